package stream_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weirstream/weir/stream"
)

func TestTransformValues(t *testing.T) {
	odd := errors.New("odd")
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, string] {
		return s.TransformValues(func(r stream.Record[string, int]) (string, error) {
			if r.Value%2 != 0 {
				return "", odd
			}
			return fmt.Sprint(r.Key, r.Value), nil
		}, stream.OnError(stream.Skip))
	}, rec("a", 1, 1), rec("a", 2, 2))
	same(t, got, "a=a2@2")
}

func ExampleStream_TransformValues() {
	b := stream.New("example")
	words(b, "to", "be").
		TransformValues(func(r stream.Record[int, string]) (string, error) {
			return fmt.Sprintf("%s, said at %s", r.Value, r.Time.Format("15:04:05")), nil
		}).
		ForEach(print)
	runExample(b)
	// Output:
	// 1 to, said at 00:00:00
	// 2 be, said at 00:00:01
}
