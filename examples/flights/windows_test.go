package main

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

// newYear is when all flights are over: none is in the future.
var newYear = time.Date(2014, 1, 2, 0, 0, 0, 0, time.UTC)

// closed reads windows, each of which must come out once.
func closed[V any](t *testing.T, d *streamtest.Driver, topic string) map[window.Key[string]]V {
	t.Helper()
	rows := map[window.Key[string]]V{}
	for _, r := range d.Out[window.Key[string], V](topic).Read() {
		if _, again := rows[r.Key]; again || r.Deleted {
			t.Fatalf("%s: %v came out again or was deleted", topic, r.Key)
		}
		rows[r.Key] = r.Value
	}
	return rows
}

// lateFor reads the flights that were late for one of the aggregates.
func lateFor(d *streamtest.Driver, topic string) (late []Flight) {
	for _, r := range d.Out[string, Flight](topicLate + topic).Read() {
		late = append(late, r.Value)
	}
	return late
}

// calendar reads the year month by month. The file has them in the order of their names: 1, 10, 11, 12, 2 and so on. Within a month
// its order stays: day by day, cancelled flights behind the others.
func calendar(t *testing.T, path string) (flights []Flight) {
	t.Helper()
	var months [13][]Flight
	eachLine(t, path, func(line string) {
		f, err := parse(line)
		if err != nil {
			t.Fatal(err)
		}
		month, err := strconv.Atoi(strings.Split(line, ",")[1])
		if err != nil || month < 1 || month > 12 {
			t.Fatalf("month of %q", line)
		}
		months[month] = append(months[month], f)
	})
	return slices.Concat(months[:]...)
}

func TestTheYearInWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole year takes its time")
	}
	flights := calendar(t, filepath.Join(dataDir(t), "flights.csv.zip"))
	d := streamtest.New(t, inWindows(24*time.Hour), streamtest.ManualCheckpoints(), streamtest.StartAt(newYear))
	in := d.In[struct{}, Flight](topicFlights)
	for i, f := range flights {
		in.SendBytes(nil, []byte(f.line))
		if i%100_000 == 99_999 {
			d.Checkpoint()
		}
	}
	in.End()
	d.Checkpoint()
	for _, topic := range []string{topicHours, topicDays, topicSessions} {
		if late := lateFor(d, topic); len(late) != 0 {
			t.Errorf("%d flights were late for %s", len(late), topic)
		}
	}

	hours := closed[int64](t, d, topicHours)
	all, fullest := int64(0), int64(0)
	for _, n := range hours {
		all, fullest = all+n, max(fullest, n)
	}
	if len(hours) != 19_486 || all != 336_776 || fullest != 38 {
		t.Errorf("%d hours with %d flights, %d in the fullest: want 19486 with 336776, 38", len(hours), all, fullest)
	}

	days := closed[Day](t, d, topicDays)
	most := int64(0)
	for _, c := range days {
		most = max(most, c.Scheduled)
	}
	if len(days) != 21_772 || most != 189 {
		t.Errorf("%d days of carriers, %d flights in the fullest: want 21772, 189", len(days), most)
	}
	same(t, "days", days, plainDays(flights))
	same(t, "sessions", closed[int64](t, d, topicSessions), plainSessions(flights))
}

// same compares windows and says which differ.
func same[V comparable](t *testing.T, what string, got, want map[window.Key[string]]V) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	t.Errorf("%d %s, want %d", len(got), what, len(want))
	for k, w := range want {
		if g, ok := got[k]; !ok || g != w {
			t.Fatalf("%v is %v (there: %v), want %v", k, g, ok, w)
		}
	}
}

// plainDays adds every flight to the four days it is in.
func plainDays(flights []Flight) map[window.Key[string]]Day {
	days := map[window.Key[string]]Day{}
	for _, f := range flights {
		last := f.Scheduled.Truncate(6 * time.Hour)
		for i := range 4 {
			from := last.Add(time.Duration(-i) * 6 * time.Hour)
			k := window.Key[string]{Key: f.Carrier, Span: window.NewSpan(from, from.Add(24*time.Hour))}
			d := days[k]
			d.Scheduled++
			if f.Arrived {
				d.Arrived, d.Minutes = d.Arrived+1, d.Minutes+int64(f.ArrDelay)
			}
			days[k] = d
		}
	}
	return days
}

// plainSessions sorts the flights by aircraft and time and cuts them where it rested for more than six hours.
func plainSessions(flights []Flight) map[window.Key[string]]int64 {
	sorted := slices.DeleteFunc(slices.Clone(flights), func(f Flight) bool { return f.Tail == "" })
	slices.SortFunc(sorted, func(a, b Flight) int {
		return cmp.Or(cmp.Compare(a.Tail, b.Tail), a.Scheduled.Compare(b.Scheduled))
	})
	sessions := map[window.Key[string]]int64{}
	for first, i := 0, 1; i <= len(sorted); i++ {
		last := sorted[i-1]
		if i < len(sorted) && sorted[i].Tail == last.Tail && sorted[i].Scheduled.Sub(last.Scheduled) <= 6*time.Hour {
			continue
		}
		// A session's last millisecond belongs to it.
		span := window.NewSpan(sorted[first].Scheduled, last.Scheduled.Add(time.Millisecond))
		sessions[window.Key[string]{Key: last.Tail, Span: span}] = int64(i - first)
		first = i
	}
	return sessions
}

// With an hour of disorder the cancelled flights of a day are late, most of them. Each flight is then in its window or late, not both.
func TestLateFlightsOfJanuary(t *testing.T) {
	const disorder = time.Hour
	d := streamtest.New(t, inWindows(disorder), streamtest.ManualCheckpoints(), streamtest.StartAt(newYear))
	in := d.In[struct{}, Flight](topicFlights)
	var flights, want []Flight
	newest := time.Time{} // of those before
	eachLine(t, "", func(line string) {
		f, err := parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if end := f.Scheduled.Truncate(time.Hour).Add(time.Hour); !end.After(newest.Add(-disorder)) {
			want = append(want, f)
		}
		if f.Scheduled.After(newest) {
			newest = f.Scheduled
		}
		flights = append(flights, f)
		in.SendBytes(nil, []byte(line))
	})
	in.End()
	d.Checkpoint()

	late := lateFor(d, topicHours)
	if len(want) == 0 || !slices.Equal(late, want) {
		t.Errorf("%d flights were late for their hour, want %d", len(late), len(want))
	}
	onTime := map[window.Key[string]]int64{}
	count := func(f Flight, n int64) {
		from := f.Scheduled.Truncate(time.Hour)
		onTime[window.Key[string]{Key: f.Origin, Span: window.NewSpan(from, from.Add(time.Hour))}] += n
	}
	for _, f := range flights {
		count(f, 1)
	}
	for _, f := range want {
		count(f, -1)
	}
	maps.DeleteFunc(onTime, func(_ window.Key[string], n int64) bool { return n == 0 })
	same(t, "hours", closed[int64](t, d, topicHours), onTime)

	busy, tails := int64(len(lateFor(d, topicSessions))), int64(0)
	for _, n := range closed[int64](t, d, topicSessions) {
		busy += n
	}
	for _, f := range flights {
		if f.Tail != "" {
			tails++
		}
	}
	if busy != tails {
		t.Errorf("%d flights of aircraft are in sessions or late for them, want %d", busy, tails)
	}
}
