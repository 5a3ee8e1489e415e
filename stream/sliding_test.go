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

// slidesOf is the naive oracle of sliding windows: every span that ends with a record or begins just behind one, with what is in it.
func slidesOf(events []event, difference int64) []string {
	rows := map[string]string{}
	for _, e := range events {
		for _, start := range []int64{e.at - difference, e.at + 1} {
			end, n := start+difference+1, 0
			for _, o := range events {
				if o.key == e.key && start <= o.at && o.at < end {
					n++
				}
			}
			if n > 0 {
				k := window.Key[string]{Key: e.key, Span: window.SpanMillis(start, end)}
				rows[fmt.Sprintf("%d %v", end-1, k)] = fmt.Sprint(n)
			}
		}
	}
	var out []string
	for k, n := range rows {
		out = append(out, k+" "+n)
	}
	return out
}

func TestSlidingWindowsHoldEveryDistinctSet(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	events := disordered(r, 400, 6, 30, 100)
	for _, difference := range []int64{0, 1, 150} {
		t.Run(fmt.Sprint(difference), func(t *testing.T) {
			sameInAllSettings[window.Key[string], int64](t, slidesOf(events, difference), func(b *stream.Builder) {
				source(b, "in").GroupBy(func(k string, _ int64) string { return k }).
					Window(window.Sliding(time.Duration(difference) * time.Millisecond).Grace(100 * time.Millisecond)).Count().ToStream().
					To(memory.Collect[window.Key[string], int64]("out"))
			}, map[string][]event{"in": events})
		})
	}
}
