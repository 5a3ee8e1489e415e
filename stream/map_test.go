package stream_test

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/stream"
)

func TestMap(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[int, string] {
		return s.Map(func(k string, v int) (int, string) { return v, k })
	}, rec("a", 1, 10), rec("b", 2, 5), stream.Record[string, int]{NoKey: true, Value: 3, Time: millennium})
	// What Map returns has a key, also where the source had none.
	same(t, got, "1=a@10", "2=b@5", "3=@0")
}

func TestMapChangesTheKey(t *testing.T) {
	b := stream.New("rekeyed")
	fed[string, int](b, "in").Map(func(k string, v int) (string, int) { return k, v }).GroupByKey().Count().ToStream().ForEach(print)
	top, err := b.Topology()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(top.String(), "repartition") {
		t.Errorf("no repartition behind Map:\n%s", top)
	}
}

func ExampleStream_Map() {
	b := stream.New("example")
	words(b, "be", "not").
		Map(func(n int, s string) (string, int) { return s, n }).
		ForEach(print)
	runExample(b)
	// Output:
	// be 1
	// not 2
}
