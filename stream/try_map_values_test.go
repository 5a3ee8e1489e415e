package stream_test

import (
	"strconv"
	"testing"

	"github.com/weirstream/weir/stream"
)

func TestTryMapValues(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, string]) *stream.Stream[string, int] {
		return s.TryMapValues(strconv.Atoi, stream.OnError(stream.Skip))
	}, rec("a", "1", 1), rec("a", "one", 2), rec("a", "2", 3))
	same(t, got, "a=1@1", "a=2@3")
}

func ExampleStream_TryMapValues() {
	b := stream.New("example")
	words(b, "7", "seven", "8").
		TryMapValues(strconv.Atoi, stream.OnError(stream.Skip)).
		ForEach(print)
	runExample(b)
	// Output:
	// 1 7
	// 3 8
}
