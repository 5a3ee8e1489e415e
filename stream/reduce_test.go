package stream_test

import (
	"testing"

	"github.com/weirstream/weir/stream"
)

// The first value is taken as it is.
func TestReduce(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] {
		return s.GroupByKey().Reduce(func(a, b int) int { return a*10 + b }, stream.OnUpdate).ToStream()
	}, rec("a", 1, 7), rec("a", 2, 5), rec("b", 3, 1), rec("a", 4, 8))
	same(t, got, "a=1@7", "a=12@7", "b=3@1", "a=124@8")
}

func ExampleGrouped_Reduce() {
	b := stream.New("example")
	words(b, "to", "be", "or", "not").
		GroupBy(func(int, string) string { return "longest" }).
		Reduce(func(a, b string) string {
			if len(b) > len(a) {
				return b
			}
			return a
		}, stream.OnUpdate).
		ToStream().
		ForEach(print)
	runExample(b)
	// Output:
	// longest to
	// longest to
	// longest to
	// longest not
}

func ExampleGrouped_Count() {
	b := stream.New("example")
	words(b, "to", "be", "or", "not").
		GroupBy(func(_ int, s string) int { return len(s) }).
		Count(stream.OnUpdate).
		ToStream().
		ForEach(print)
	runExample(b)
	// Output:
	// 2 1
	// 2 2
	// 2 3
	// 3 1
}
