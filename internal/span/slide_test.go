package span

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func within(times []int64, w Span) []int64 {
	return slices.DeleteFunc(slices.Clone(times), func(t int64) bool { return !w.Contains(t) })
}

// slideSpans is what the definition says: one span that ends with each record, and one behind it where that is not empty.
func slideSpans(s Slide, times []int64) map[Span]bool {
	all := map[Span]bool{}
	for _, t := range times {
		all[s.Before(t)] = true
		if len(within(times, s.After(t))) > 0 {
			all[s.After(t)] = true
		}
	}
	return all
}

// Every set of records that a window shows while it is moved over the axis of time, millisecond by millisecond, is that of one of the spans,
// and each span shows one of those sets.
func TestSlideFindsEverySet(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		s := Slide{Difference: r.Int64N(12)}
		times := make([]int64, 1+r.IntN(12))
		for i := range times {
			times[i] = r.Int64N(60) - 30
		}
		slices.Sort(times)
		moved, defined := map[string]bool{}, map[string]bool{}
		for start := int64(-60); start < 60; start++ {
			if in := within(times, Span{start, start + s.Difference + 1}); len(in) > 0 {
				moved[fmt.Sprint(in)] = true
			}
		}
		for w := range slideSpans(s, times) {
			defined[fmt.Sprint(within(times, w))] = true
		}
		if !maps.Equal(moved, defined) {
			t.Fatalf("%+v over %v: moving shows %v, spans hold %v", s, times, moved, defined)
		}
	}
}

// A record changes only spans that belong to records within Touched.
func TestSlideTouched(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 2000 {
		s := Slide{Difference: r.Int64N(10), Grace: r.Int64N(5)}
		times := make([]int64, r.IntN(12))
		for i := range times {
			times[i] = r.Int64N(60) - 30
		}
		at := r.Int64N(60) - 30
		all := append(slices.Clone(times), at)
		before, allowed := slideSpans(s, times), map[Span]bool{}
		for _, near := range within(all, s.Touched(at)) {
			allowed[s.Before(near)], allowed[s.After(near)] = true, true
		}
		latest := Ever
		for w := range slideSpans(s, all) {
			if changed := w.Contains(at) || !before[w]; changed && !allowed[w] {
				t.Fatalf("%+v: %d changes %v, which belongs to no record in %v", s, at, w, s.Touched(at))
			}
			if w.Contains(at) || w == s.After(at) {
				latest = max(latest, s.Close(w))
			}
		}
		if latest > s.Drop(at) {
			t.Fatalf("%+v: %d is dropped at %d, before its span closes at %d", s, at, s.Drop(at), latest)
		}
	}
}

func TestSlideLate(t *testing.T) {
	s := Slide{Difference: 10, Grace: 5}
	if s.Late(100, 115) || !s.Late(100, 116) {
		t.Error("a record at 100 is late from 116 on: the last span that can have it is [100, 111)")
	}
	spec := Spec{Kind: Sliding, Size: 10, Grace: 5}
	if got := spec.Slide(); got != s {
		t.Errorf("Slide = %+v, want %+v", got, s)
	}
	if spec.Of(100).N != 0 {
		t.Error("a sliding window has spans without records")
	}
}
