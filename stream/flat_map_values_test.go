package stream_test

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/stream"
)

func TestFlatMapValues(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, string]) *stream.Stream[string, string] {
		return s.FlatMapValues(strings.Fields)
	}, rec("a", "to be", 1), rec("b", "", 2), rec("c", "or", 3))
	same(t, got, "a=to@1", "a=be@1", "c=or@3")
}

func ExampleStream_FlatMapValues() {
	b := stream.New("example")
	words(b, "to be", "or not").
		FlatMapValues(strings.Fields).
		ForEach(print)
	runExample(b)
	// Output:
	// 1 to
	// 1 be
	// 2 or
	// 2 not
}
