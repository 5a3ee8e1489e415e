package stream_test

import (
	"testing"

	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

func TestForEachSeesTheWholeRecord(t *testing.T) {
	var got []stream.Record[string, int]
	b := stream.New("each")
	fed[string, int](b, "in").ForEach(func(r stream.Record[string, int]) error { got = append(got, r); return nil })
	in := streamtest.New(t, b).In[string, int]("in")
	in.SendRecord(rec("a", 1, 5))
	in.SendRecord(stream.Record[string, int]{NoKey: true, Value: 2, Time: millennium})
	same(t, show(got), "a=1@5", "-=2@0")
	if got[0].Origin.Topic != "in" || got[0].Origin.Offset != 0 {
		t.Errorf("origin %v", got[0].Origin)
	}
}

func ExampleStream_ForEach() {
	b := stream.New("example")
	words(b, "to", "be").ForEach(print)
	runExample(b)
	// Output:
	// 1 to
	// 2 be
}
