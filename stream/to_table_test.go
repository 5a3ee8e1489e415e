package stream_test

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/table"
)

// The latest record of a key is its row, whatever its time; a record without a key is none; a changed key is repartitioned first.
func TestToTable(t *testing.T) {
	counted := counts{}
	b := stream.New("rows")
	fed[string, int](b, "in").
		SelectKey(func(_ string, v int) string { return fmt.Sprint("even ", even("", v)) }).
		ToTable(stream.OnUpdate).
		Changes().
		To(memory.Collect[string, table.Change[int]]("changed"))
	fed[string, int](b, "keyless").ToTable(stream.Named("kept"), stream.OnUpdate).To(memory.Collect[string, int]("kept"))
	d := streamtest.New(t, b, streamtest.Partitions(3), streamtest.Config(func(c *stream.Config) { c.Metrics = counted }))
	in, keyless := d.In[string, int]("in"), d.In[string, int]("keyless")
	changed, kept := d.Out[string, table.Change[int]]("changed"), d.Out[string, int]("kept")
	in.SendRecord(rec("a", 2, 5))
	d.Checkpoint()
	d.Crash()
	in.SendRecord(rec("b", 4, 3))
	same(t, show(changed.Read()), "even true={0 2 false true}@5", "even true={2 4 true true}@3")
	keyless.SendRecord(stream.Record[string, int]{NoKey: true, Value: 1, Time: millennium})
	keyless.SendRecord(rec("k", 2, 1))
	same(t, show(kept.Read()), "k=2@1")
	if n := counted.of("weir_dropped_total", "kept"); n != 1 {
		t.Errorf("dropped %d: %v", n, counted)
	}
}

func ExampleStream_ToTable() {
	b := stream.New("example")
	b.Source(kafka.Source("moves", serde.String, serde.String)).ToTable().To(kafka.Sink("homes", serde.String, serde.String))
	t := &exampleTB{}
	defer t.end()
	d := streamtest.New(t, b)
	moves := d.In[string, string]("moves")
	moves.Send("ann", "bern")
	moves.Send("bob", "oslo")
	moves.Send("ann", "rome")
	fmt.Println(streamtest.Rows(d.Out[string, string]("homes")))
	// Output: map[ann:rome bob:oslo]
}
