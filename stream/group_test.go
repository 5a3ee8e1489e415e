package stream_test

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// Records without a key are in no group; they are counted.
func TestGroupingDropsAndCountsWhatHasNoKey(t *testing.T) {
	b := stream.New("no-key")
	fed[string, int](b, "in").GroupByKey().Count(stream.OnUpdate).To(memory.Collect[string, int64]("out"))
	counted := counts{}
	d := streamtest.New(t, b, streamtest.Config(func(c *stream.Config) { c.Metrics = counted }))
	in, out := d.In[string, int]("in"), d.Out[string, int64]("out")
	in.SendRecord(stream.Record[string, int]{NoKey: true, Value: 1, Time: millennium})
	in.SendRecord(rec("", 1, 1))
	same(t, show(out.Read()), "=1@1")
	if n := counted.of("weir_dropped_total", "no key"); n != 1 {
		t.Errorf("counted %d: %v", n, counted)
	}
}

// Several aggregates of one group share its repartition, which is named after the first.
func TestAGroupIsRepartitionedOnce(t *testing.T) {
	b := stream.New("shared")
	g := fed[string, int](b, "in").GroupBy(func(_ string, v int) int { return v % 2 }, stream.Named("by-parity"))
	g.Count().ToStream().ForEach(func(stream.Record[int, int64]) error { return nil })
	g.Reduce(func(a, b int) int { return a + b }).ToStream().ForEach(func(stream.Record[int, int]) error { return nil })
	top, err := b.Topology()
	if err != nil {
		t.Fatal(err)
	}
	s := top.String()
	if strings.Count(s, "from ") != 1 || !strings.Contains(s, "from by-parity-repartition") {
		t.Errorf("got\n%s", s)
	}
}

// A serde that is said behind the group is that of the repartition and the store: a key without one of its own works.
func TestGroupedSerdes(t *testing.T) {
	//lint:ignore U1000 a function is nothing that For takes
	type odd struct{ f func() }
	asText := serde.New("odd/1", func(dst []byte, o odd) ([]byte, error) { return append(dst, "odd"...), nil },
		func([]byte) (odd, error) { return odd{}, nil })
	b := stream.New("serdes")
	fed[string, int](b, "in").
		GroupBy(func(string, int) odd { return odd{} }).KeySerde(asText).
		Count(stream.OnUpdate).
		ToStream().
		Map(func(_ odd, n int64) (string, int64) { return "odd", n }).
		To(memory.Collect[string, int64]("out"))
	d := streamtest.New(t, b)
	in, out := d.In[string, int]("in"), d.Out[string, int64]("out")
	in.SendRecord(rec("a", 1, 1))
	in.SendRecord(rec("b", 1, 2))
	same(t, show(out.Read()), "odd=1@1", "odd=2@2")
}

func ExampleStream_GroupBy() {
	b := stream.New("example")
	words(b, "to", "be", "or", "not", "to", "be").
		GroupBy(func(_ int, s string) string { return s }).
		Count(stream.OnUpdate).
		ToStream().
		ForEach(print)
	runExample(b)
	// Output:
	// to 1
	// be 1
	// or 1
	// not 1
	// to 2
	// be 2
}

func ExampleStream_GroupByKey() {
	b := stream.New("example")
	words(b, "to", "be", "or", "not").
		SelectKey(func(_ int, s string) int { return len(s) }).
		GroupByKey().
		Reduce(func(a, b string) string { return a + " " + b }, stream.OnUpdate).
		ToStream().
		ForEach(print)
	runExample(b)
	// Output:
	// 2 to
	// 2 to be
	// 2 to be or
	// 3 not
}

func ExampleGrouped_KeySerde() {
	b := stream.New("example")
	words(b, "to", "be").
		GroupBy(func(_ int, s string) string { return s }).
		KeySerde(serde.String). // what For would pick as well
		Count(stream.OnUpdate).
		ToStream().
		ForEach(print)
	runExample(b)
	// Output:
	// to 1
	// be 1
}
