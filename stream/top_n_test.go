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
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

func TestTopNKeepsTheGreatest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	events := disordered(r, 500, 4, 40, 200)
	for i := range events {
		events[i].value = r.Int64N(50)
	}
	best := map[string][]int64{}
	w := window.Tumbling(700 * time.Millisecond).Grace(200 * time.Millisecond)
	ends := map[string]int64{}
	for _, e := range events {
		s := w.Spans(time.UnixMilli(e.at))[0]
		k := window.Key[string]{Key: e.key, Span: s}.String()
		_, end := s.Millis()
		best[k], ends[k] = append(best[k], e.value), end
	}
	var want []string
	for k, list := range best {
		slices.SortFunc(list, func(a, b int64) int { return cmp.Compare(b, a) })
		want = append(want, fmt.Sprint(ends[k]-1, " ", k, " ", list[:min(3, len(list))]))
	}
	sameInAllSettings[window.Key[string], []int64](t, want, func(b *stream.Builder) {
		source(b, "in").GroupBy(func(k string, _ int64) string { return k }).Window(w).TopN(3, cmp.Compare[int64]).
			ToStream().To(memory.Collect[window.Key[string], []int64]("out"))
	}, map[string][]event{"in": events})
}

// The greatest per key, in the order in which they came where they are equal, across a crash; a record that changes nothing is an
// update like any other.
func TestTopNPerKey(t *testing.T) {
	b := stream.New("top")
	fed[string, string](b, "in").GroupByKey().
		TopN(2, func(a, b string) int { return cmp.Compare(a[0], b[0]) }, stream.OnUpdate).
		To(memory.Collect[string, []string]("out"))
	d := streamtest.New(t, b)
	in, out := d.In[string, string]("in"), d.Out[string, []string]("out")
	for i, v := range []string{"3a", "1a", "3b", "5a"} {
		if i == 3 {
			d.Checkpoint()
			d.Crash()
		}
		in.SendRecord(rec("k", v, i))
	}
	in.SendRecord(rec("j", "0a", 4))
	same(t, show(out.Read()), "k=[3a]@0", "k=[3a 1a]@1", "k=[3a 3b]@2", "k=[5a 3a]@3", "j=[0a]@4")
}
