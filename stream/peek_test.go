package stream_test

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/stream"
)

func TestPeek(t *testing.T) {
	sum := 0
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] {
		return s.Peek(func(_ string, v int) { sum += v })
	}, rec("a", 1, 1), rec("b", 2, 2))
	same(t, got, "a=1@1", "b=2@2")
	if sum != 3 {
		t.Errorf("saw %d", sum)
	}
}

func ExampleStream_Peek() {
	b := stream.New("example")
	words(b, "to", "be").
		Peek(func(n int, s string) { fmt.Println("saw", s) }).
		ForEach(print)
	runExample(b)
	// Output:
	// saw to
	// 1 to
	// saw be
	// 2 be
}
