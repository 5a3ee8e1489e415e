package stream_test

import (
	"testing"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

func TestMerge(t *testing.T) {
	b := stream.New("merge")
	one, two, three := fed[string, int](b, "one"), fed[string, int](b, "two"), fed[string, int](b, "three")
	one.Merge(two, three.MapValues(func(v int) int { return -v })).To(memory.Collect[string, int]("out"))
	d := streamtest.New(t, b)
	a, c, e := d.In[string, int]("one"), d.In[string, int]("two"), d.In[string, int]("three")
	out := d.Out[string, int]("out")
	a.SendRecord(rec("a", 1, 1))
	c.SendRecord(rec("b", 2, 2))
	e.SendRecord(rec("c", 3, 3))
	same(t, show(out.Read()), "a=1@1", "b=2@2", "c=-3@3")
}

// A stream merged with itself is there twice.
func TestMergeWithItself(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] { return s.Merge(s) }, rec("a", 1, 1))
	same(t, got, "a=1@1", "a=1@1")
}

func ExampleStream_Merge() {
	b := stream.New("example")
	all := words(b, "to", "be")
	all.Filter(func(n int, _ string) bool { return n == 1 }).
		Merge(all.MapValues(func(s string) string { return s + "!" })).
		ForEach(print)
	runExample(b)
	// Output:
	// 1 to
	// 1 to!
	// 2 be!
}
