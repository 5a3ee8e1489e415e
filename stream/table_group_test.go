package stream_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// byTeam groups rows "team|points".
func byTeam(t *stream.Table[string, string]) *stream.GroupedTable[string, int64] {
	return t.GroupBy(func(_, row string) (string, int64) {
		team, _, _ := strings.Cut(row, "|")
		return team, amount(row)
	})
}

func plus(a, b int64) int64  { return a + b }
func minus(a, b int64) int64 { return a - b }

// grouped runs players through an aggregate by team: x joins red, is raised there, moves to blue beside y, and is deleted.
func grouped[V any](t *testing.T, of func(*stream.GroupedTable[string, int64]) *stream.Table[string, V]) string {
	t.Helper()
	b := stream.New("teams")
	of(byTeam(b.Table(kafka.Source("players", serde.String, serde.String)))).To(memory.Collect[string, V]("out"))
	d := streamtest.New(t, b)
	in, out := d.In[string, string]("players"), d.Out[string, V]("out")
	send := func(key, row string, ms int) {
		in.SendRecord(stream.Record[string, string]{Key: key, Value: row, Deleted: row == "", Time: rec(key, row, ms).Time})
	}
	send("y", "blue|10", 1)
	send("x", "red|3", 2)
	d.Crash()
	send("x", "red|5", 3)
	send("x", "blue|7", 4)
	send("x", "", 5)
	send("z", "", 6) // was never there
	return show(out.Read())
}

// An update within a group is one step: no sum without the row is seen. A change of the group takes the row out of the one and puts it
// into the other, a deletion takes it out.
func TestRowsMoveBetweenGroups(t *testing.T) {
	t.Run("count", func(t *testing.T) {
		same(t, grouped(t, func(g *stream.GroupedTable[string, int64]) *stream.Table[string, int64] {
			return g.Count(stream.OnUpdate)
		}),
			"blue=1@1", "red=1@2", "red=1@3", "red=0@4", "blue=2@4", "blue=1@5")
	})
	t.Run("reduce", func(t *testing.T) {
		same(t, grouped(t, func(g *stream.GroupedTable[string, int64]) *stream.Table[string, int64] {
			return g.Reduce(plus, minus, stream.OnUpdate)
		}), "blue=10@1", "red=3@2", "red=5@3", "red=0@4", "blue=17@4", "blue=10@5")
	})
	t.Run("aggregate", func(t *testing.T) {
		step := func(sign string) func(string, int64, string) string {
			return func(_ string, v int64, r string) string { return fmt.Sprint(r, sign, v) }
		}
		same(t, grouped(t, func(g *stream.GroupedTable[string, int64]) *stream.Table[string, string] {
			return g.Aggregate(func() string { return "" }, step("+"), step("-"), stream.OnUpdate)
		}), "blue=+10@1", "red=+3@2", "red=+3-3+5@3", "red=+3-3+5-5@4", "blue=+10+7@4", "blue=+10+7-7@5")
	})
	t.Run("top", func(t *testing.T) {
		same(t, grouped(t, func(g *stream.GroupedTable[string, int64]) *stream.Table[string, []int64] {
			return g.TopN(1, func(a, b int64) int { return cmp.Compare(b, a) }, stream.OnUpdate)
		}), "blue=[10]@1", "red=[3]@2", "red=[5]@3", "red=[]@4", "blue=[7]@4", "blue=[10]@5")
	})
}

// A key that == cannot compare is a key like any other.
func TestGroupsBySlices(t *testing.T) {
	b := stream.New("teams")
	b.Table(kafka.Source("players", serde.String, serde.String)).
		GroupBy(func(_, row string) ([]byte, int64) { return []byte(row[:1]), amount(row) }).
		Reduce(plus, minus, stream.OnUpdate).
		To(kafka.Sink("out", serde.Bytes, serde.Int64))
	d := streamtest.New(t, b)
	in, out := d.In[string, string]("players"), d.Out[[]byte, int64]("out")
	in.Send("x", "r|3")
	in.Send("x", "r|4")
	in.Send("x", "b|5")
	var got []string
	for _, r := range out.Read() {
		got = append(got, fmt.Sprint(string(r.Key), r.Value))
	}
	expect(t, "sums", got, "r3", "r4", "r0", "b5")
}

// A row that add rejects is not in the group: the one before it is taken out, and it is never taken out itself.
func TestARejectedRowIsNotInItsGroup(t *testing.T) {
	got := rows(t, func(t *stream.Table[string, int]) *stream.Table[string, int] {
		return t.Filter(func(string, int) bool { return true }).GroupBy(func(k string, v int) (string, int) {
			return k, v
		}).Reduce(func(a, b int) int {
			if b == bad {
				stream.Reject(errBad)
			}
			return a + b
		}, func(a, b int) int { return a - b }, stream.OnUpdate, stream.OnError(stream.Skip))
	}, rec("a", 1, 1), rec("a", bad, 2), rec("a", 4, 3))
	same(t, got, "a=1@1", "a=0@2", "a=4@3")
}

// teams prints what an aggregate of players by team amounts to when ann has moved from red to blue.
func teams[V any](of func(g *stream.GroupedTable[string, int64]) *stream.Table[string, V]) {
	b := stream.New("teams")
	of(byTeam(b.Table(kafka.Source("players", serde.String, serde.String)))).To(kafka.Sink("out", serde.String, serde.JSON[V]()))
	t := &exampleTB{}
	defer t.end()
	d := streamtest.New(t, b)
	players := d.In[string, string]("players")
	players.Send("ann", "red|3")
	players.Send("bob", "red|4")
	players.Send("eve", "blue|5")
	players.Send("ann", "blue|3")
	fmt.Println(streamtest.Rows(d.Out[string, V]("out")))
}

func ExampleTable_GroupBy() {
	teams(func(g *stream.GroupedTable[string, int64]) *stream.Table[string, int64] { return g.Count() })
	// Output: map[blue:2 red:1]
}

func ExampleGroupedTable_Count() {
	teams(func(g *stream.GroupedTable[string, int64]) *stream.Table[string, int64] { return g.Count() })
	// Output: map[blue:2 red:1]
}

func ExampleGroupedTable_Reduce() {
	teams(func(g *stream.GroupedTable[string, int64]) *stream.Table[string, int64] { return g.Reduce(plus, minus) })
	// Output: map[blue:8 red:4]
}

func ExampleGroupedTable_Aggregate() {
	type mean struct{ Sum, N int64 }
	teams(func(g *stream.GroupedTable[string, int64]) *stream.Table[string, mean] {
		return g.Aggregate(func() mean { return mean{} },
			func(_ string, v int64, m mean) mean { return mean{m.Sum + v, m.N + 1} },
			func(_ string, v int64, m mean) mean { return mean{m.Sum - v, m.N - 1} })
	})
	// Output: map[blue:{8 2} red:{4 1}]
}

func ExampleGroupedTable_TopN() {
	teams(func(g *stream.GroupedTable[string, int64]) *stream.Table[string, []int64] {
		return g.TopN(1, cmp.Compare[int64])
	})
	// Output: map[blue:[5] red:[4]]
}
