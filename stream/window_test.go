package stream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// spansOf is the naive oracle of windows that the clock makes: everything is known, nothing is late.
func spansOf(events []event, w window.Spec, fold func(old string, had bool, e event) string) []string {
	rows := map[window.Key[string]]string{}
	for _, e := range events {
		for _, s := range w.Spans(time.UnixMilli(e.at)) {
			k := window.Key[string]{Key: e.key, Span: s}
			old, had := rows[k]
			rows[k] = fold(old, had, e)
		}
	}
	var out []string
	for k, v := range rows {
		_, end := k.Span.Millis()
		out = append(out, fmt.Sprintf("%d %v %v", end-1, k, v))
	}
	return out
}

func countOf(old string, _ bool, _ event) string {
	n := 0
	fmt.Sscan(old, &n)
	return fmt.Sprint(n + 1)
}

func TestWindowsHoldWhatTheyShould(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	events := disordered(r, 600, 9, 40, 300)
	for _, w := range []window.Spec{
		window.Tumbling(time.Second).Grace(300 * time.Millisecond),
		window.Tumbling(70 * time.Millisecond).Grace(time.Second).Offset(13 * time.Millisecond),
		window.Hopping(time.Second, 300*time.Millisecond).Grace(300 * time.Millisecond),
		window.Hopping(time.Second, 250*time.Millisecond).Grace(300 * time.Millisecond),
		window.Daily(time.UTC).Grace(time.Second),
	} {
		t.Run(w.String(), func(t *testing.T) {
			want := spansOf(events, w, countOf)
			sameInAllSettings[window.Key[string], int64](t, want, func(b *stream.Builder) {
				source(b, "in").GroupBy(func(k string, _ int64) string { return k }).Window(w).Count().ToStream().
					To(memory.Collect[window.Key[string], int64]("out"))
			}, map[string][]event{"in": events})
		})
	}
}

// A window of a window of a window gets everything, though the results of one come at the very end of their spans.
func TestWindowsOfWindowsLoseNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	events := disordered(r, 500, 5, 30, 0)
	sizes := []time.Duration{70 * time.Millisecond, 250 * time.Millisecond, time.Second}
	for _, order := range [][3]int{{0, 1, 2}, {2, 1, 0}, {1, 1, 1}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			for _, s := range settings() {
				got := run[string, int64](t, s, func(b *stream.Builder) {
					st := source(b, "in").MapValues(func(int64) int64 { return 1 })
					for level, i := range order {
						st = sums(st, sizes[i], fmt.Sprint("level", level))
					}
					st.To(memory.Collect[string, int64]("out"))
				}, map[string][]event{"in": events})
				n := 0
				for _, g := range got {
					n += int(g.Value)
				}
				if n != len(events) {
					t.Fatalf("%v: %d of %d records arrived", s, n, len(events))
				}
			}
		})
	}
}

// sums adds up what a key has per span, across an exchange.
func sums(s *stream.Stream[string, int64], size time.Duration, name string) *stream.Stream[string, int64] {
	return s.GroupBy(func(k string, _ int64) string { return k }).Window(window.Tumbling(size)).
		Reduce(func(a, b int64) int64 { return a + b }, stream.Named(name)).
		ToStream().Map(func(k window.Key[string], n int64) (string, int64) { return k.Key, n })
}
