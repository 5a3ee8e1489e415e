package stream_test

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/stream"
)

func TestMapValues(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, string] {
		return s.MapValues(func(v int) string { return strings.Repeat("x", v) })
	}, rec("a", 1, 10), rec("b", 2, 5), stream.Record[string, int]{NoKey: true, Value: 3, Time: millennium})
	same(t, got, "a=x@10", "b=xx@5", "-=xxx@0")
}

func TestMapValuesKeepsTheKey(t *testing.T) {
	b := stream.New("kept")
	fed[string, int](b, "in").MapValues(func(v int) int { return v }).GroupByKey().Count().ToStream().ForEach(print)
	top, err := b.Topology()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(top.String(), "repartition") {
		t.Errorf("a repartition behind MapValues:\n%s", top)
	}
}

func ExampleStream_MapValues() {
	b := stream.New("example")
	words(b, "be", "not").
		MapValues(strings.ToUpper).
		ForEach(print)
	runExample(b)
	// Output:
	// 1 BE
	// 2 NOT
}
