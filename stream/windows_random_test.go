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

// anySetting draws a way of running: partitions, exchange, checkpoints, memory and crashes.
func anySetting(r *rand.Rand) setting {
	return setting{
		partitions: []int{1, 2, 8}[r.IntN(3)],
		memory:     []int64{0, 2 << 10, 64 << 10}[r.IntN(3)],
		checkpoint: []int{1, 3, 20, 100, 1 << 30}[r.IntN(5)],
		crash:      []int{0, 25, 90}[r.IntN(3)],
		kafka:      r.IntN(2) == 0,
		seed:       r.Uint64(),
	}
}

// A windowing is a topology of windows that a test draws, and what must come out of it.
type windowing struct {
	name  string
	build func(b *stream.Builder)
	want  func(left, right []event) []string
}

// anyWindowings draws one of every kind of window. Records are less than disorder late, and grace is that.
func anyWindowings(r *rand.Rand, disorder int64) []windowing {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	grace := ms(disorder)
	size := 20 + r.Int64N(900)
	advance := 1 + size/(1+r.Int64N(8))
	apart, gap := r.Int64N(200), 1+r.Int64N(300)
	before, after := r.Int64N(300), r.Int64N(300)
	byKey := func(k string, _ int64) string { return k }
	counted := func(w window.Spec) func(b *stream.Builder) {
		return func(b *stream.Builder) {
			plainly(source(b, "left").Merge(source(b, "right")).GroupBy(byKey).Window(w).Count())
		}
	}
	spans := func(w window.Spec) windowing {
		return windowing{w.String(), counted(w), func(left, right []event) []string { return spansOf(slices.Concat(left, right), w, countOf) }}
	}
	slides := window.Sliding(ms(apart)).Grace(grace)
	sessions := window.Session(ms(gap)).Grace(grace)
	pairs := window.Between(ms(before), ms(after)).Grace(grace)
	return []windowing{
		spans(window.Tumbling(ms(size)).Offset(ms(r.Int64N(size))).Grace(grace)),
		spans(window.Hopping(ms(size), ms(min(size, advance))).Grace(grace)),
		{slides.String(), counted(slides), func(left, right []event) []string { return slidesOf(slices.Concat(left, right), apart) }},
		{sessions.String(), func(b *stream.Builder) {
			plainly(source(b, "left").Merge(source(b, "right")).GroupBy(byKey).Session(sessions).Count())
		}, func(left, right []event) []string {
			return sessionsOf(slices.Concat(left, right), func(event) int64 { return gap })
		}},
		{pairs.String(), func(b *stream.Builder) {
			source(b, "left").SelectKey(byKey).OuterJoin(source(b, "right").SelectKey(byKey), pairs, outer).To(memory.Collect[string, string]("out"))
		}, func(left, right []event) []string { return pairsOf(left, right, before, after, true, true) }},
	}
}

// Whatever the windows, and however a topology is run, its results are those of an oracle that sees all records at once.
func TestWindowsInAnyShapeAndSetting(t *testing.T) {
	const seeds = 12
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 66))
			disorder := r.Int64N(400)
			left, right := dealt(disordered(r, 250, 1+r.IntN(9), 40, disorder))
			for _, s := range anyWindowings(r, disorder) {
				how := anySetting(r)
				want := s.want(left, right)
				slices.Sort(want)
				got := lines(run[string, string](t, how, s.build, map[string][]event{"left": left, "right": right}))
				if !slices.Equal(got, want) {
					t.Fatalf("%s, %v:\n%s", s.name, how, difference(got, want))
				}
			}
		})
	}
}

// plainly sends counts to "out", as text.
func plainly(t *stream.Table[window.Key[string], int64]) {
	t.ToStream().Map(func(k window.Key[string], n int64) (string, string) { return fmt.Sprint(k), fmt.Sprint(n) }).
		To(memory.Collect[string, string]("out"))
}
