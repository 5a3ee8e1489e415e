package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	d := streamtest.New(t, withAircraft(), streamtest.ManualCheckpoints())
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
	flights, n := d.In[struct{}, Flight]("flights"), 0
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
	named := int64(0)
	for _, n := range streamtest.Rows(d.Out[string, int64](topicByAirline)) {
		named += n
	}
	if named != all {
		t.Errorf("%d flights have a named airline, of %d", named, all)
	}
}
