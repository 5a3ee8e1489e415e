package stream_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// What must keep compiling: results that grow, generic functions and types over the DSL, and chains of everything.

type growing struct{ A int64 }

// Generic functions over streams and tables.
func hourly[K, V any](s *stream.Stream[K, V]) *stream.Table[window.Key[K], int64] {
	return s.GroupByKey().Window(window.Tumbling(time.Hour)).Count(stream.Named("hourly"))
}
func latest[K, V any](t *stream.Table[K, V]) *stream.Stream[K, table.Change[V]] { return t.Changes() }
func changed[K any, V comparable](t *stream.Table[K, V]) *stream.Stream[K, V] {
	return t.Changes().
		Filter(func(_ K, c table.Change[V]) bool { return c.HasNew && (!c.HadOld || c.Old != c.New) }).
		MapValues(func(c table.Change[V]) V { return c.New })
}
func topN[K any, V cmp.Ordered](g *stream.Grouped[K, V], n int) *stream.Table[K, []V] {
	return g.TopN(n, cmp.Compare[V])
}

// A generic type over streams: its methods may return what grows, but not the type itself grown.
type growingPipe[K, V any] struct{ S *stream.Stream[K, V] }

func (p growingPipe[K, V]) Sessions() *stream.Stream[window.Key[K], int64] {
	return p.S.GroupByKey().Session(window.Session(time.Minute)).Count(stream.Named("sessions")).ToStream()
}

// A generic processor.
func gaps[K, V any](name string) func(p *stream.Processor[K, K, time.Duration]) func(stream.Record[K, V]) error {
	return func(p *stream.Processor[K, K, time.Duration]) func(stream.Record[K, V]) error {
		last := p.Value(name, serde.Time)
		return func(r stream.Record[K, V]) error {
			if t, ok := last.Get(); ok {
				p.Emit(r.Key, r.Time.Sub(t))
			}
			last.Set(r.Time)
			return nil
		}
	}
}

func growth() *stream.Builder {
	b := stream.New("growth")
	s := b.Source(kafka.Source("s", serde.String, serde.JSON[growing]()))
	t := b.Table(kafka.Source("t", serde.String, serde.JSON[growing]()))

	// window of window of window
	s.GroupByKey().Window(window.Tumbling(time.Minute)).Count(stream.Named("minutes")).
		ToStream().GroupByKey().Session(window.Session(time.Hour)).Reduce(func(a, b int64) int64 { return a + b }).
		Filter(func(k window.Key[window.Key[string]], n int64) bool { return n > 0 }).
		ToStream().GroupByKey().Window(window.Hopping(time.Hour, time.Minute)).
		Aggregate(func() []int64 { return nil }, func(_ window.Key[window.Key[string]], n int64, r []int64) []int64 { return append(r, n) }).
		Changes().
		To(kafka.Sink("x", serde.Windowed(serde.Windowed(serde.Windowed(serde.String))), serde.JSON[table.Change[[]int64]]()))

	// cogroup, windowed
	s.GroupByKey().Cogroup(func(_ string, v growing, n int64) int64 { return n + v.A }).
		And(t.ToStream().GroupByKey(), func(_ string, v growing, n int64) int64 { return n - v.A }).
		AggregateWindow(window.Tumbling(time.Hour), func() int64 { return 0 }, stream.OnUpdate)

	// joins of every kind
	n := s.GroupByKey().Count().Join(t, func(n int64, v growing) int64 { return n * v.A })
	n.OuterJoin(t, func(n int64, v growing, m stream.Match) string { return fmt.Sprint(n, v, m) }).
		LeftJoinOn(t, func(k, v string) (string, bool) { return v, v != "" }, func(a string, v growing, ok bool) string { return a }).
		GroupBy(func(k, v string) (int64, string) { return int64(len(v)), k }).
		TopN(3, cmp.Compare[string], stream.Every(time.Minute)).
		To(kafka.Sink("y", serde.Int64, serde.JSON[[]string]()))

	latest(hourly(s)).To(kafka.Sink("z", serde.Windowed(serde.String), serde.JSON[table.Change[int64]]()))
	changed(n)
	topN(n.ToStream().GroupByKey(), 3)
	growingPipe[string, growing]{s}.Sessions()
	s.ProcessValues(gaps[string, growing]("last")).GroupByKey().Reduce(func(a, b time.Duration) time.Duration { return max(a, b) })
	return b
}

// TestGrowth builds it: the types are proved by its compiling, the rest by Build.
func TestGrowth(t *testing.T) {
	top, err := growth().Topology()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"source s", "source t", "sink to-x", "sink to-y", "sink to-z"} {
		if !strings.Contains(top.String(), want) {
			t.Errorf("%q is not in\n%s", want, top)
		}
	}
}

// TestGrowthRuns sends it a record: window of window of window gives nothing before the end, and then something.
func TestGrowthRuns(t *testing.T) {
	d := streamtest.New(t, growth())
	s, tab := d.In[string, growing]("s"), d.In[string, growing]("t")
	z := d.Out[window.Key[string], table.Change[int64]]("z")
	tab.Send("a", growing{2})
	s.Send("a", growing{1})
	s.End()
	tab.End()
	if got := z.Read(); len(got) != 1 || got[0].Value.New != 1 {
		t.Errorf("hourly: %v", got)
	}
}
