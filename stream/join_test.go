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

// pairsOf is the naive oracle of joins: every pair in reach, and what is in none.
func pairsOf(left, right []event, before, after int64, leftAlone, rightAlone bool) []string {
	var out []string
	matched := map[int]bool{}
	for _, l := range left {
		alone := true
		for i, r := range right {
			if l.key == r.key && r.at >= l.at-before && r.at <= l.at+after {
				out = append(out, fmt.Sprintf("%d %s %d+%d", max(l.at, r.at), l.key, l.value, r.value))
				alone, matched[i] = false, true
			}
		}
		if alone && leftAlone {
			out = append(out, fmt.Sprintf("%d %s %d+?", l.at, l.key, l.value))
		}
	}
	for i, r := range right {
		if rightAlone && !matched[i] {
			out = append(out, fmt.Sprintf("%d %s ?+%d", r.at, r.key, r.value))
		}
	}
	return out
}

// split deals events out to two streams.
func dealt(events []event) (left, right []event) {
	for i, e := range events {
		if i%3 == 0 {
			right = append(right, e)
		} else {
			left = append(left, e)
		}
	}
	return left, right
}

func TestJoinsFindEveryPairAndWhatIsAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	left, right := dealt(disordered(r, 500, 6, 40, 200))
	inputs := map[string][]event{"left": left, "right": right}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, reach := range [][2]int64{{150, 150}, {0, 0}, {0, 400}, {400, -100}, {-50, 300}, {2000, 0}} {
		before, after := reach[0], reach[1]
		w := window.Between(ms(before), ms(after)).Grace(200 * time.Millisecond)
		topology := func(b *stream.Builder, join func(l, r *stream.Stream[string, int64]) *stream.Stream[string, string]) {
			join(source(b, "left").SelectKey(func(k string, _ int64) string { return k }),
				source(b, "right").SelectKey(func(k string, _ int64) string { return k })).To(memory.Collect[string, string]("out"))
		}
		both := func(l, r int64) string { return fmt.Sprintf("%d+%d", l, r) }
		t.Run("inner "+w.String(), func(t *testing.T) {
			sameInAllSettings[string, string](t, pairsOf(left, right, before, after, false, false), func(b *stream.Builder) {
				topology(b, func(l, r *stream.Stream[string, int64]) *stream.Stream[string, string] { return l.Join(r, w, both) })
			}, inputs)
		})
		t.Run("left "+w.String(), func(t *testing.T) {
			sameInAllSettings[string, string](t, pairsOf(left, right, before, after, true, false), func(b *stream.Builder) {
				topology(b, func(l, r *stream.Stream[string, int64]) *stream.Stream[string, string] {
					return l.LeftJoin(r, w, func(l, r int64, ok bool) string {
						if !ok {
							return fmt.Sprintf("%d+?", l)
						}
						return both(l, r)
					})
				})
			}, inputs)
		})
		t.Run("outer "+w.String(), func(t *testing.T) {
			sameInAllSettings[string, string](t, pairsOf(left, right, before, after, true, true), func(b *stream.Builder) {
				topology(b, func(l, r *stream.Stream[string, int64]) *stream.Stream[string, string] {
					return l.OuterJoin(r, w, outer)
				})
			}, inputs)
		})
	}
}

func outer(l, r int64, m stream.Match) string {
	switch m {
	case stream.LeftOnly:
		return fmt.Sprintf("%d+?", l)
	case stream.RightOnly:
		return fmt.Sprintf("?+%d", r)
	}
	return fmt.Sprintf("%d+%d", l, r)
}

// A key with more records than fit a row, many at the same time; values that are not plain.
func TestJoinsOfHotKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	left, right := dealt(disordered(r, 700, 1, 2, 20))
	want := pairsOf(left, right, 30, 30, true, true)
	sameInAllSettings[string, string](t, want, func(b *stream.Builder) {
		list := func(v int64) []int64 { return []int64{v} }
		byKey := func(k string, _ []int64) string { return k }
		one := func(l []int64) int64 {
			if len(l) == 0 {
				return 0
			}
			return l[0]
		}
		l := source(b, "left").MapValues(list).SelectKey(byKey)
		l.OuterJoin(source(b, "right").MapValues(list).SelectKey(byKey), window.Within(30*time.Millisecond).Grace(20*time.Millisecond),
			func(l, r []int64, m stream.Match) string { return outer(one(l), one(r), m) }).
			To(memory.Collect[string, string]("out"))
	}, map[string][]event{"left": left, "right": right})
}
