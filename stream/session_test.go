package stream_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// sessionsOf is the naive oracle: everything is known, sorted, and cut where a pause is longer than the gap of what came before.
func sessionsOf(events []event, gap func(e event) int64) []string {
	byKey := map[string][]event{}
	for _, e := range events {
		byKey[e.key] = append(byKey[e.key], e)
	}
	var out []string
	for k, es := range byKey {
		slices.SortStableFunc(es, func(a, b event) int { return cmp.Compare(a.at, b.at) })
		for i := 0; i < len(es); {
			n, reach, last := 1, es[i].at+gap(es[i]), es[i].at
			j := i + 1
			for ; j < len(es) && es[j].at <= reach; j++ {
				n, reach, last = n+1, max(reach, es[j].at+gap(es[j])), es[j].at
			}
			key := window.Key[string]{Key: k, Span: window.SpanMillis(es[i].at, last+1)}
			out = append(out, fmt.Sprintf("%d %v %v", last, key, n))
			i = j
		}
	}
	return out
}

func TestSessionsEndWithTheirGap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	events := disordered(r, 600, 7, 40, 300)
	want := sessionsOf(events, func(event) int64 { return 250 })
	sameInAllSettings[window.Key[string], int64](t, want, func(b *stream.Builder) {
		source(b, "in").GroupBy(func(k string, _ int64) string { return k }).
			Session(window.Session(250 * time.Millisecond).Grace(300 * time.Millisecond)).Count().ToStream().
			To(memory.Collect[window.Key[string], int64]("out"))
	}, map[string][]event{"in": events})
}

func TestSessionsByGapOfRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	events := disordered(r, 600, 7, 40, 0)
	gap := func(v int64) int64 { return 30 + v%7*50 }
	want := sessionsOf(events, func(e event) int64 { return gap(e.value) })
	sameInAllSettings[window.Key[string], int64](t, want, func(b *stream.Builder) {
		source(b, "in").GroupBy(func(k string, _ int64) string { return k }).
			SessionBy(window.Session(200*time.Millisecond), func(_ string, v int64) time.Duration { return time.Duration(gap(v)) * time.Millisecond }).
			Aggregate(func() []int64 { return nil }, func(_ string, v int64, r []int64) []int64 { return append(r, v) },
				func(_ string, a, b []int64) []int64 { return append(a, b...) }).
			MapValues(func(r []int64) int64 { return int64(len(r)) }).
			ToStream().
			To(memory.Collect[window.Key[string], int64]("out"))
	}, map[string][]event{"in": events})
}

// Whatever the policy, the rows that a table amounts to in the end are those of OnClose.
func TestPoliciesEndAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	events := disordered(r, 400, 5, 40, 200)
	byKey := func(k string, _ int64) string { return k }
	for _, policy := range []struct {
		name string
		opt  stream.WindowOption
	}{{"OnUpdate", stream.OnUpdate}, {"OnCheckpoint", stream.OnCheckpoint}, {"Every", stream.Every(time.Hour)}} {
		t.Run(policy.name, func(t *testing.T) {
			w := window.Hopping(400*time.Millisecond, 150*time.Millisecond).Grace(200 * time.Millisecond)
			topologies := []func(b *stream.Builder) *stream.Table[window.Key[string], int64]{
				func(b *stream.Builder) *stream.Table[window.Key[string], int64] {
					return source(b, "in").GroupBy(byKey).Session(window.Session(150 * time.Millisecond).Grace(200 * time.Millisecond)).Count(policy.opt)
				},
				func(b *stream.Builder) *stream.Table[window.Key[string], int64] {
					return source(b, "in").GroupBy(byKey).Window(w).Count(policy.opt)
				},
			}
			wants := [][]string{
				untimed(sessionsOf(events, func(event) int64 { return 150 })),
				untimed(spansOf(events, w, countOf)),
			}
			for i, topology := range topologies {
				for _, s := range settings() {
					got := rowsOf(run[window.Key[string], int64](t, s, func(b *stream.Builder) {
						topology(b).To(memory.Collect[window.Key[string], int64]("out"))
					}, map[string][]event{"in": events}))
					if !slices.Equal(got, wants[i]) {
						t.Fatalf("topology %d, %v: %s", i, s, difference(got, wants[i]))
					}
				}
			}
		})
	}
}
