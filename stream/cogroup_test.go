package stream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// A balance adds what one stream has and subtracts what the other has.
func balanced(b *stream.Builder) *stream.Cogrouped[string, int64] {
	byKey := func(k string, _ int64) string { return k }
	return source(b, "left").GroupBy(byKey).
		Cogroup(func(_ string, v, r int64) int64 { return r + v }).
		And(source(b, "right").GroupBy(byKey), func(_ string, v, r int64) int64 { return r - v })
}

func zero() int64 { return 0 }

// signed is both streams as one, in the order in which they are sent.
func signed(left, right []event) []event {
	all := slices.Clone(left)
	for _, e := range right {
		e.value = -e.value
		all = append(all, e)
	}
	return all
}

func sumOf(old string, _ bool, e event) string {
	n := int64(0)
	fmt.Sscan(old, &n)
	return fmt.Sprint(n + e.value)
}

func TestCogroupsAddUpAllStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	left, right := dealt(disordered(r, 500, 6, 40, 200))
	inputs := map[string][]event{"left": left, "right": right}
	t.Run("per key", func(t *testing.T) {
		sums := map[string]int64{}
		for _, e := range signed(left, right) {
			sums[e.key] += e.value
		}
		var want []string
		for k, n := range sums {
			want = append(want, fmt.Sprint(k, " ", n))
		}
		slices.Sort(want)
		for _, s := range settings() {
			got := rowsOf(run[string, int64](t, s, func(b *stream.Builder) {
				balanced(b).Aggregate(zero).To(memory.Collect[string, int64]("out"))
			}, inputs))
			if !slices.Equal(got, want) {
				t.Fatalf("%v: %s", s, difference(got, want))
			}
		}
	})
	t.Run("per window", func(t *testing.T) {
		w := window.Hopping(500*time.Millisecond, 200*time.Millisecond).Grace(200 * time.Millisecond)
		sameInAllSettings[window.Key[string], int64](t, spansOf(signed(left, right), w, sumOf), func(b *stream.Builder) {
			balanced(b).AggregateWindow(w, zero).ToStream().To(memory.Collect[window.Key[string], int64]("out"))
		}, inputs)
	})
	t.Run("per sliding window", func(t *testing.T) {
		want := slidesOf(signed(left, right), 90)
		sameInAllSettings[window.Key[string], int64](t, want, func(b *stream.Builder) {
			byKey := func(k string, _ int64) string { return k }
			length := func(_ string, v string, r int64) int64 { return r + int64(len(v)) }
			source(b, "left").GroupBy(byKey).Cogroup(func(_ string, _, r int64) int64 { return r + 1 }).
				And(source(b, "right").MapValues(func(int64) string { return "x" }).GroupBy(func(k, _ string) string { return k }), length).
				AggregateWindow(window.Sliding(90*time.Millisecond).Grace(200*time.Millisecond), zero).
				ToStream().To(memory.Collect[window.Key[string], int64]("out"))
		}, inputs)
	})
	t.Run("per session", func(t *testing.T) {
		ones := append([]event(nil), signed(left, right)...)
		want := sessionsOf(ones, func(event) int64 { return 120 })
		sameInAllSettings[window.Key[string], int64](t, want, func(b *stream.Builder) {
			byKey := func(k string, _ int64) string { return k }
			one := func(_ string, _, r int64) int64 { return r + 1 }
			source(b, "left").GroupBy(byKey).Cogroup(one).And(source(b, "right").GroupBy(byKey), one).
				AggregateSession(window.Session(120*time.Millisecond).Grace(200*time.Millisecond), zero, func(_ string, a, b int64) int64 { return a + b }).
				ToStream().To(memory.Collect[window.Key[string], int64]("out"))
		}, inputs)
	})
}
