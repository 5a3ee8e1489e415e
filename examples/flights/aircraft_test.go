package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// dataDir has the whole year of nycflights13.
func dataDir(t *testing.T) string {
	dir := os.Getenv("WEIR_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	dir = filepath.Join(dir, "nycflights13")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the data is missing: %v: set WEIR_DATA", err)
		}
		t.Skipf("the data is missing: %v: set WEIR_DATA", err)
	}
	return dir
}

// eachLine calls f for every line of a file behind its header.
func eachLine(t *testing.T, path string, f func(line string)) {
	t.Helper()
	in, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	for lines.Scan(); lines.Scan(); {
		f(lines.Text())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestTheYearWithItsAircraft(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole year takes its time")
	}
	dir := dataDir(t)
	b := stream.New("flights-enriched")
	enrich(b, b.Source(kafka.Source(topicFlights, serde.Unit, csv), stream.OnError(stream.Skip)), 1)
	d := streamtest.New(t, b, streamtest.ManualCheckpoints())
	airlines := d.In[string, string](topicAirlines)
	eachLine(t, filepath.Join(dir, "airlines.csv"), func(line string) {
		code, name, _ := strings.Cut(line, ",")
		airlines.Send(code, name)
	})
	planes := d.In[string, Plane](topicPlanes)
	eachLine(t, filepath.Join(dir, "planes.csv"), func(line string) {
		tail, p, err := parsePlane(line)
		if err != nil {
			t.Fatal(err)
		}
		planes.Send(tail, p)
	})
	weather := d.In[string, Weather](topicWeather)
	eachLine(t, filepath.Join(dir, "weather.csv"), func(line string) {
		key, w, err := parseWeather(line)
		if err != nil {
			t.Fatal(err)
		}
		weather.Send(key, w)
	})
	flights, n := d.In[struct{}, Flight](topicFlights), 0
	eachLine(t, filepath.Join(dir, "flights.csv.zip"), func(line string) {
		flights.SendBytes(nil, []byte(line))
		if n++; n%100_000 == 0 {
			d.Checkpoint()
		}
	})
	d.Checkpoint()
	got := streamtest.Rows(d.Out[string, int64](topicByManufacturer))
	all, known := int64(0), int64(0)
	for manufacturer, n := range got {
		if all += n; manufacturer != unknown {
			known += n
		}
	}
	if known != 284_170 || got[unknown] != 52_606 {
		t.Errorf("%d flights have their aircraft in the file and %d have not, want 284170 and 52606", known, got[unknown])
	}
	for manufacturer, want := range map[string]int64{"BOEING": 82_912, "EMBRAER": 66_068, "AIRBUS": 47_302} {
		if got[manufacturer] != want {
			t.Errorf("%s: %d flights, want %d", manufacturer, got[manufacturer], want)
		}
	}
	delays := streamtest.Rows(d.Out[string, Delays](topicByVisibility))
	for class, want := range map[string]Delays{
		"under 1 mile": {3_620, 107_573}, "1 to 5 miles": {13_901, 326_209}, "5 to 10 miles": {35_812, 700_901}, "10 miles": {273_660, 2_997_001},
		unknown: {1_528, 20_516},
	} {
		if delays[class] != want {
			t.Errorf("departures with a visibility of %s: %v, want %v", class, delays[class], want)
		}
	}
	named := int64(0)
	for _, n := range streamtest.Rows(d.Out[string, int64](topicByAirline)) {
		named += n
	}
	if named != all {
		t.Errorf("%d flights have a named airline, of %d", named, all)
	}
}
