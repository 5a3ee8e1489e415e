package stream_test

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/stream"
)

func TestFlatMap(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[int, string] {
		return s.FlatMap(func(k string, v int, emit func(int, string)) {
			for i := range v {
				emit(i, k)
			}
		})
	}, rec("a", 2, 10), rec("b", 0, 11), rec("c", 1, 12))
	same(t, got, "0=a@10", "1=a@10", "0=c@12")
}

// What was emitted before a rejection stays.
func TestFlatMapRejectedHalfWay(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] {
		return s.FlatMap(func(k string, v int, emit func(string, int)) {
			emit(k, v)
			if v == 1 {
				stream.Reject(errDown)
			}
			emit(k, -v)
		}, stream.OnError(stream.Skip))
	}, rec("a", 1, 1), rec("a", 2, 2))
	same(t, got, "a=1@1", "a=2@2", "a=-2@2")
}

func ExampleStream_FlatMap() {
	b := stream.New("example")
	words(b, "to be", "or not").
		FlatMap(func(n int, s string, emit func(string, int)) {
			for _, w := range strings.Fields(s) {
				emit(w, n)
			}
		}).
		ForEach(print)
	runExample(b)
	// Output:
	// to 1
	// be 1
	// or 2
	// not 2
}
