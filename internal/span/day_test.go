package span

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // the zones of these tests, on machines that have none
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

const minute = 60 * 1000

// naiveDay walks the minutes around t and watches the clock on the wall: a day is the minutes during which the latest date
// shown so far stays the same.
func naiveDay(s Spec, t int64) Span {
	var day Span
	latest := int64(-1 << 62)
	for at := t - 3*dayMillis; at < t+3*dayMillis; at += minute {
		at := floor(at, minute, 0)
		_, offset := time.UnixMilli(at).In(s.Zone).Zone()
		date := floor(at+int64(offset)*1000, dayMillis, s.Offset)
		if date <= latest {
			continue
		}
		latest = date
		if at > t {
			day.End = at
			break
		}
		day.Start = at
	}
	return day
}

// Days on which the clocks of a zone do something, and what a span of that day lasts.
var oddDays = []struct {
	zone, at string
	hours    float64
}{
	{"Europe/Berlin", "2024-03-31T12:00:00Z", 23},
	{"Europe/Berlin", "2024-10-27T12:00:00Z", 25},
	{"America/New_York", "2024-07-04T12:00:00Z", 24},
	{"Australia/Lord_Howe", "2024-04-06T20:00:00Z", 24.5}, // half an hour
	{"America/Sao_Paulo", "2018-11-04T12:00:00Z", 23},     // no midnight: 00:00 becomes 01:00
	{"America/Sao_Paulo", "2018-02-17T12:00:00Z", 25},     // 24:00 becomes 23:00
	{"America/Havana", "2024-11-03T12:00:00Z", 25},        // 01:00 becomes 00:00: midnight comes twice
	{"Asia/Beirut", "2024-03-31T12:00:00Z", 23},
	{"America/St_Johns", "2010-11-07T12:00:00Z", 25}, // 00:01 becomes 23:01 of the day before
	{"Pacific/Apia", "2011-12-29T20:00:00Z", 24},     // the 30th of December did not happen
	{"Pacific/Apia", "2011-12-30T12:00:00Z", 24},
	{"Asia/Kathmandu", "1969-12-31T23:00:00Z", 24},
}

func TestOddDays(t *testing.T) {
	for _, c := range oddDays {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		s := Spec{Kind: Daily, Zone: zone(t, c.zone)}
		got := s.Of(at.UnixMilli()).First
		if want := naiveDay(s, at.UnixMilli()); got != want {
			t.Errorf("%s at %s = %v, want %v", c.zone, c.at, got, want)
		}
		if hours := float64(got.End-got.Start) / 3_600_000; hours != c.hours {
			t.Errorf("%s at %s lasts %v h, want %v", c.zone, c.at, hours, c.hours)
		}
	}
}

func TestDaysAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		c := oddDays[r.IntN(len(oddDays))]
		at, _ := time.Parse(time.RFC3339, c.at)
		s := Spec{Kind: Daily, Zone: zone(t, c.zone), Offset: (r.Int64N(47) - 23) * 30 * minute}
		ms := at.UnixMilli() + r.Int64N(4*dayMillis) - 2*dayMillis
		if got, want := s.Of(ms).First, naiveDay(s, ms); got != want {
			t.Fatalf("%s offset %v at %v = %v, want %v", c.zone, time.Duration(s.Offset)*time.Millisecond, time.UnixMilli(ms).UTC(), got, want)
		}
	}
}

// Days follow each other: the end of one is the start of the next, through decades of changes, on both sides of the epoch.
func TestDaysAreSeamless(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/St_Johns", "Pacific/Apia", "America/Sao_Paulo", "Africa/Casablanca", "UTC"} {
		s := Spec{Kind: Daily, Zone: zone(t, name)}
		day := s.Of(-20 * 365 * dayMillis).First
		for range 60 * 365 {
			next := s.Of(day.End).First
			if next.Start != day.End || next.End <= next.Start || s.Of(next.End-1).First != next {
				t.Fatalf("%s: %v is followed by %v", name, day, next)
			}
			day = next
		}
	}
}

func TestDaysAtTheLimits(t *testing.T) {
	for _, loc := range []*time.Location{time.UTC, zone(t, "Europe/Berlin"), time.FixedZone("far", 90*3600)} {
		s := Spec{Kind: Daily, Zone: loc}
		for _, at := range []int64{-1 << 63, -Limit, -1, 0, Limit, 1<<63 - 1} {
			if w := s.Of(at).First; !w.Contains(clamp(at)) || w.End-w.Start > 25*3600*1000 {
				t.Errorf("%v at %d = %v", loc, at, w)
			}
		}
	}
}
