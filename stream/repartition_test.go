package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// Records of a key stay together and in order, whatever the exchange; those without a key pass.
func TestRepartition(t *testing.T) {
	for _, exchange := range []stream.Exchange{stream.Local, stream.Kafka} {
		t.Run(fmt.Sprint(exchange), func(t *testing.T) {
			b := stream.New("repartition")
			s := fed[string, int](b, "in").SelectKey(func(k string, v int) string { return fmt.Sprint(v % 3) })
			var where []string
			s.Repartition(stream.Partitions(4)).
				Transform(func(r stream.Record[string, int], emit func(stream.Record[string, int])) error {
					where = append(where, fmt.Sprintf("%s on %d", r.Key, r.Origin.Partition))
					emit(r)
					return nil
				}).
				To(memory.Collect[string, int]("out"))
			d := streamtest.New(t, b, streamtest.Partitions(2), streamtest.Config(func(c *stream.Config) { c.Exchange = exchange }))
			in, out := d.In[string, int]("in"), d.Out[string, int]("out")
			for i := range 9 {
				in.SendRecord(rec("same", i, i))
			}
			asSet(t, show(out.Read()), "0=0@0", "1=1@1", "2=2@2", "0=3@3", "1=4@4", "2=5@5", "0=6@6", "1=7@7", "2=8@8")
			places := map[string]string{}
			for _, w := range where {
				key, at, _ := strings.Cut(w, " on ")
				if before := places[key]; before != "" && before != at {
					t.Errorf("key %s is on partitions %s and %s", key, before, at)
				}
				places[key] = at
			}
		})
	}
}

// The one key of a type without bytes is a key too: all its records come to one place, from whatever partition.
func TestRepartitionOfTheOnlyKey(t *testing.T) {
	for _, exchange := range []stream.Exchange{stream.Local, stream.Kafka} {
		t.Run(fmt.Sprint(exchange), func(t *testing.T) {
			b := stream.New("only-key")
			fed[string, int](b, "in").
				SelectKey(func(string, int) struct{} { return struct{}{} }).
				Repartition(stream.Partitions(4)).
				GroupByKey().
				Count(stream.OnUpdate).
				To(memory.Collect[struct{}, int64]("out"))
			d := streamtest.New(t, b, streamtest.Partitions(2), streamtest.Config(func(c *stream.Config) { c.Exchange = exchange }))
			in, out := d.In[string, int]("in"), d.Out[struct{}, int64]("out")
			for i := range 6 {
				in.SendRecord(rec(fmt.Sprint(i), i, i))
			}
			most := int64(0)
			for _, r := range out.Read() {
				most = max(most, r.Value)
			}
			if most != 6 {
				t.Errorf("counted up to %d, want 6", most)
			}
		})
	}
}

func ExampleStream_Repartition() {
	b := stream.New("example")
	words(b, "to", "be").Repartition().ForEach(print)
	top, _ := b.Topology()
	fmt.Println(top)
	runExample(b)
	// Output:
	// app example
	//
	// 1: texts
	//   source texts
	//     repartition texts-repartition-out (texts-repartition) → texts-repartition
	//
	// 2: texts-repartition
	//   from texts-repartition
	//     for-each for-each-1
	//
	// 1 to
	// 2 be
}
