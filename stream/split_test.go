package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

func TestSplitTakesTheFirstBranch(t *testing.T) {
	b := stream.New("split")
	br := fed[string, any](b, "in").Split()
	big := br.When("big", func(_ string, v any) bool { n, ok := v.(int); return ok && n > 100 })
	n := br.OfType[int]("numbers")
	s := br.As("texts", func(v any) (string, bool) { s, ok := v.(string); return s, ok && s != "" })
	rest := br.Else("rest")
	big.To(memory.Collect[string, any]("big"))
	n.MapValues(func(n int) int { return -n }).To(memory.Collect[string, int]("numbers"))
	s.To(memory.Collect[string, string]("texts"))
	rest.To(memory.Collect[string, any]("rest"))
	d := streamtest.New(t, b)
	in := d.In[string, any]("in")
	bigs, numbers := d.Out[string, any]("big"), d.Out[string, int]("numbers")
	texts, others := d.Out[string, string]("texts"), d.Out[string, any]("rest")
	for i, v := range []any{1000, 7, "x", "", 1.5} {
		in.SendRecord(rec("k", v, i))
	}
	same(t, show(bigs.Read()), "k=1000@0")
	same(t, show(numbers.Read()), "k=-7@1")
	same(t, show(texts.Read()), "k=x@2")
	same(t, show(others.Read()), "k=@3", "k=1.5@4")
}

func TestSplitDropsAndCountsWhatNoBranchTakes(t *testing.T) {
	b := stream.New("split")
	fed[string, int](b, "in").Split().When("even", even).ForEach(func(stream.Record[string, int]) error { return nil })
	counted := counts{}
	d := streamtest.New(t, b, streamtest.Config(func(c *stream.Config) { c.Metrics = counted }))
	in := d.In[string, int]("in")
	for i := range 5 {
		in.SendRecord(rec("k", i, i))
	}
	if n := counted.of("weir_dropped_total", "no branch"); n != 2 {
		t.Errorf("counted %d: %v", n, counted)
	}
}

func TestSplitMistakes(t *testing.T) {
	b := stream.New("split")
	br := fed[string, int](b, "in").Split()
	br.When("", even)
	br.When("even", even)
	br.When("even", even)
	br.Else("rest")
	br.When("more", even)
	_, err := b.Topology()
	for _, want := range []string{"a branch needs a name", `branch "even" is there twice`, `branch "more" comes behind Else("rest")`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func ExampleStream_Split() {
	b := stream.New("example")
	br := words(b, "to", "be", "2b").Split()
	br.When("first", func(n int, _ string) bool { return n == 1 }).
		ForEach(func(r stream.Record[int, string]) error { fmt.Println("first", r.Value); return nil })
	br.Else("rest").
		ForEach(func(r stream.Record[int, string]) error { fmt.Println("rest", r.Value); return nil })
	runExample(b)
	// Output:
	// first to
	// rest be
	// rest 2b
}

func ExampleBranches_As() {
	b := stream.New("example")
	br := words(b, "12", "twelve").Split()
	br.As("numbers", func(s string) (n int, ok bool) { _, err := fmt.Sscan(s, &n); return n, err == nil }).
		ForEach(func(r stream.Record[int, int]) error { fmt.Println("number", r.Value); return nil })
	br.Else("words").
		ForEach(func(r stream.Record[int, string]) error { fmt.Println("word", r.Value); return nil })
	runExample(b)
	// Output:
	// number 12
	// word twelve
}

type shape interface{ area() int }
type square struct{ side int }
type line struct{}

func (s square) area() int { return s.side * s.side }
func (line) area() int     { return 0 }

func ExampleBranches_OfType() {
	b := stream.New("example")
	shapes := words(b, "square", "line").MapValues(func(s string) shape {
		if s == "line" {
			return line{}
		}
		return square{3}
	}).Split()
	shapes.OfType[square]("squares").
		ForEach(func(r stream.Record[int, square]) error { fmt.Println("side", r.Value.side); return nil })
	runExample(b)
	// Output: side 3
}
