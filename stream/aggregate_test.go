package stream_test

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// set is a value that is changed in place.
type set map[int]bool

func aggregated(opts ...stream.TableOption) *stream.Builder {
	b := stream.New("aggregate")
	fed[string, int](b, "in").GroupByKey().
		Aggregate(func() set { return set{} }, func(_ string, v int, s set) set { s[v] = true; return s }, opts...).
		To(memory.Collect[string, set]("out"))
	return b
}

// What leaves an aggregate is a snapshot: what add does to its accumulator later does not change it.
func TestAggregatesAreSnapshots(t *testing.T) {
	d := streamtest.New(t, aggregated(stream.OnUpdate))
	in, out := d.In[string, int]("in"), d.Out[string, set]("out")
	in.SendRecord(rec("k", 1, 5))
	in.SendRecord(rec("k", 2, 3))
	in.SendRecord(rec("k", 3, 9))
	// A result's time is the greatest of its inputs'.
	same(t, show(out.Read()), "k=map[1:true]@5", "k=map[1:true 2:true]@5", "k=map[1:true 2:true 3:true]@9")
}

// By default a row is given out once a checkpoint, however often it changed.
func TestAggregatesEmitOncePerCheckpoint(t *testing.T) {
	d := streamtest.New(t, aggregated(), streamtest.ManualCheckpoints())
	in, out := d.In[string, int]("in"), d.Out[string, set]("out")
	in.SendRecord(rec("b", 1, 1))
	in.SendRecord(rec("a", 1, 2))
	in.SendRecord(rec("b", 2, 3))
	same(t, show(out.Read()))
	d.Checkpoint()
	asSet(t, show(out.Read()), "a=map[1:true]@2", "b=map[1:true 2:true]@3")
	d.Checkpoint()
	same(t, show(out.Read()))
}

// State comes back as it was at the last checkpoint, after a crash and after a restart.
func TestAggregatesSurvive(t *testing.T) {
	d := streamtest.New(t, aggregated(), streamtest.ManualCheckpoints())
	in, out := d.In[string, int]("in"), d.Out[string, set]("out")
	in.SendRecord(rec("k", 1, 1))
	d.Checkpoint()
	in.SendRecord(rec("k", 2, 2))
	d.Crash()
	in.SendRecord(rec("k", 3, 3))
	d.Restart(aggregated())
	in.SendRecord(rec("k", 4, 4))
	d.Checkpoint()
	same(t, show(out.Read()), "k=map[1:true]@1", "k=map[1:true 2:true 3:true]@3", "k=map[1:true 2:true 3:true 4:true]@4")
}

func ExampleGrouped_Aggregate() {
	type stats struct{ Words, Letters int }
	b := stream.New("example")
	words(b, "to", "be", "or", "not").
		GroupBy(func(int, string) string { return "all" }).
		Aggregate(func() stats { return stats{} }, func(_, w string, s stats) stats {
			return stats{s.Words + 1, s.Letters + len(w)}
		}, stream.OnUpdate).
		ToStream().
		ForEach(func(r stream.Record[string, stats]) error { fmt.Printf("%+v\n", r.Value); return nil })
	runExample(b)
	// Output:
	// {Words:1 Letters:2}
	// {Words:2 Letters:4}
	// {Words:3 Letters:6}
	// {Words:4 Letters:9}
}
