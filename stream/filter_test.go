package stream_test

import (
	"testing"

	"github.com/weirstream/weir/stream"
)

func even(_ string, v int) bool { return v%2 == 0 }

func TestFilter(t *testing.T) {
	in := []stream.Record[string, int]{rec("a", 1, 1), rec("b", 2, 2), {NoKey: true, Value: 4, Time: millennium}}
	same(t, pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] { return s.Filter(even) }, in...), "b=2@2", "-=4@0")
	same(t, pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] { return s.FilterNot(even) }, in...), "a=1@1")
}

func ExampleStream_Filter() {
	b := stream.New("example")
	words(b, "to", "be", "or", "not").
		Filter(func(_ int, s string) bool { return len(s) > 2 }).
		ForEach(print)
	runExample(b)
	// Output: 4 not
}

func ExampleStream_FilterNot() {
	b := stream.New("example")
	words(b, "to", "be", "or", "not").
		FilterNot(func(n int, _ string) bool { return n%2 == 0 }).
		ForEach(print)
	runExample(b)
	// Output:
	// 1 to
	// 3 or
}
