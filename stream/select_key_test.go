package stream_test

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/stream"
)

func TestSelectKey(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[int, int] {
		return s.SelectKey(func(k string, v int) int { return len(k) * v })
	}, rec("aa", 1, 1), stream.Record[string, int]{NoKey: true, Value: 2, Time: millennium})
	same(t, got, "2=1@1", "0=2@0")
}

func ExampleStream_SelectKey() {
	b := stream.New("example")
	words(b, "to", "be").
		SelectKey(func(n int, s string) string { return fmt.Sprint(s[:1], n) }).
		ForEach(print)
	runExample(b)
	// Output:
	// t1 to
	// b2 be
}
