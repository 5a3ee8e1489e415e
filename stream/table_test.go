package stream_test

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/table"
)

// last is a table of the last value of each key.
func last(s *stream.Stream[string, int], opts ...stream.TableOption) *stream.Table[string, int] {
	return s.GroupByKey().Reduce(func(_, b int) int { return b }, append(opts, stream.OnUpdate)...)
}

// rows sends updates to a table and shows what comes out of one made of it.
func rows[K, V any](t *testing.T, of func(*stream.Table[string, int]) *stream.Table[K, V], in ...stream.Record[string, int]) string {
	t.Helper()
	b := stream.New("rows")
	of(last(fed[string, int](b, "in"))).To(memory.Collect[K, V]("out"))
	d := streamtest.New(t, b)
	to, out := d.In[string, int]("in"), d.Out[K, V]("out")
	for _, r := range in {
		to.SendRecord(r)
	}
	return show(out.Read())
}

// A row that stops matching is deleted; one that never matched is not there to be deleted.
func TestTableFilter(t *testing.T) {
	got := rows(t, func(t *stream.Table[string, int]) *stream.Table[string, int] { return t.Filter(even) },
		rec("a", 1, 1), rec("a", 2, 2), rec("a", 4, 3), rec("a", 5, 4), rec("a", 7, 5), rec("a", 8, 6))
	same(t, got, "a=2@2", "a=4@3", "a=deleted@4", "a=8@6")
}

func TestTableMapValues(t *testing.T) {
	got := rows(t, func(t *stream.Table[string, int]) *stream.Table[string, string] {
		return t.Filter(even).MapValues(func(v int) string { return fmt.Sprintf("<%d>", v) })
	}, rec("a", 2, 1), rec("b", 3, 2), rec("a", 5, 3))
	same(t, got, "a=<2>@1", "a=deleted@3")
}

// Deletions are not in ToStream.
func TestToStream(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, int] {
		return last(s).Filter(even).ToStream()
	},
		rec("a", 2, 1), rec("a", 3, 2), rec("a", 4, 3))
	same(t, got, "a=2@1", "a=4@3")
}

func TestChanges(t *testing.T) {
	got := pipe(t, func(s *stream.Stream[string, int]) *stream.Stream[string, string] {
		return last(s).Filter(even).Changes().MapValues(func(c table.Change[int]) string {
			return fmt.Sprintf("%d,%t>%d,%t", c.Old, c.HadOld, c.New, c.HasNew)
		})
	}, rec("a", 2, 1), rec("a", 4, 2), rec("a", 5, 3))
	same(t, got, "a=0,false>2,true@1", "a=2,true>4,true@2", "a=4,true>0,false@3")
}

// A rejected row is not there: the one before it is taken back, and it is not taken back itself.
func TestTableOperatorsReject(t *testing.T) {
	got := rows(t, func(t *stream.Table[string, int]) *stream.Table[string, int] {
		return t.
			Filter(func(_ string, v int) bool {
				if v == bad {
					stream.Reject(errBad)
				}
				return true
			}, stream.OnError(stream.Skip)).
			MapValues(func(v int) int {
				if v == bad+1 {
					panic(errBad)
				}
				return -v
			}, stream.OnError(stream.Skip))
	}, rec("a", 1, 1), rec("a", bad, 2), rec("a", bad+1, 3), rec("a", 2, 4))
	same(t, got, "a=-1@1", "a=deleted@2", "a=-2@4")
}

func ExampleTable_Filter() {
	b := stream.New("example")
	words(b, "to", "be", "to", "to").
		GroupBy(func(_ int, s string) string { return s }).
		Count(stream.OnUpdate).
		Filter(func(_ string, n int64) bool { return n >= 2 }).
		ToStream().
		ForEach(print)
	runExample(b)
	// Output:
	// to 2
	// to 3
}

func ExampleTable_MapValues() {
	b := stream.New("example")
	words(b, "to", "be", "to").
		GroupBy(func(_ int, s string) string { return s }).
		Count(stream.OnUpdate).
		MapValues(func(n int64) string { return fmt.Sprint(n, " times") }).
		ToStream().
		ForEach(print)
	runExample(b)
	// Output:
	// to 1 times
	// be 1 times
	// to 2 times
}

func ExampleTable_ToStream() {
	b := stream.New("example")
	words(b, "to", "be", "to").
		GroupBy(func(_ int, s string) string { return s }).
		Count(stream.OnUpdate).
		ToStream().
		ForEach(print)
	runExample(b)
	// Output:
	// to 1
	// be 1
	// to 2
}

func ExampleTable_Changes() {
	b := stream.New("example")
	words(b, "to", "be", "to").
		GroupBy(func(_ int, s string) string { return s }).
		Count(stream.OnUpdate).
		Changes().
		ForEach(func(r stream.Record[string, table.Change[int64]]) error {
			fmt.Println(r.Key, "was", r.Value.Old, "is", r.Value.New)
			return nil
		})
	runExample(b)
	// Output:
	// to was 0 is 1
	// be was 0 is 1
	// to was 1 is 2
}

func ExampleTable_To() {
	out := memory.Collect[string, int64]("counts")
	b := stream.New("example")
	words(b, "to", "be", "to").
		GroupBy(func(_ int, s string) string { return s }).
		Count(stream.OnUpdate).
		To(out)
	runExample(b)
	for _, r := range out.Records() {
		fmt.Println(r.Key, r.Value)
	}
	// Output:
	// to 1
	// be 1
	// to 2
}
