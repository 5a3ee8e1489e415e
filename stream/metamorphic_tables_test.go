package stream_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// Rows of a table by key.
type tableRows map[string]string

// A relation is a table of a random topology, and what it amounts to over the final rows of its sources.
type relation struct {
	table *stream.Table[string, string]
	eval  func(rows map[string]tableRows) tableRows
}

// A grower makes random topologies. Rows are "foreign key|number" everywhere, so that every operator fits behind every other.
type grower struct {
	r       *rand.Rand
	b       *stream.Builder
	sources map[string]relation
	version time.Duration // 0: tables know their rows as they are now only
	all     *stream.Global[string, string]
	n       int
}

func newGrower(r *rand.Rand) *grower {
	return &grower{r: r, b: stream.New("random"), sources: map[string]relation{}}
}

// options name a node, and say when it emits.
func (g *grower) options() []stream.TableOption {
	g.n++
	emit := []stream.TableOption{stream.OnUpdate, stream.OnCheckpoint}[g.r.IntN(2)]
	return []stream.TableOption{stream.Named(fmt.Sprint("node", g.n)), emit}
}

// source is one of three tables; the same one may be taken often.
func (g *grower) source() relation {
	name := fmt.Sprint("t", g.r.IntN(3))
	if r, ok := g.sources[name]; ok {
		return r
	}
	var opts []stream.TableSourceOption
	if g.version > 0 {
		opts = append(opts, stream.Versioned(g.version))
	}
	src := kafka.Source(name, serde.String, serde.String)
	g.sources[name] = relation{g.b.Table(src, opts...), func(rows map[string]tableRows) tableRows { return rows[name] }}
	return g.sources[name]
}

// combined is the row that joins make; a side that is not there counts as 49.
func combined(a string, hasA bool, b string, hasB bool) string {
	x, y := int64(49), int64(49)
	if hasA {
		x = amount(a)
	}
	if hasB {
		y = amount(b)
	}
	return rowOf(3*x+y, 7*x+13*y+1)
}

// rowOf makes a row, one in six without a foreign key.
func rowOf(fk, n int64) string {
	key := ""
	if fk%6 != 0 {
		key = fmt.Sprint("k", fk%9)
	}
	return fmt.Sprintf("%s|%d", key, n%50)
}

func combinedBoth(a, b string) string          { return combined(a, true, b, true) }
func combinedLeft(a, b string, ok bool) string { return combined(a, true, b, ok) }
func combinedFull(a, b string, m stream.Match) string {
	return combined(a, m != stream.RightOnly, b, m != stream.LeftOnly)
}

// grow makes a table of so many operators in a row. A near one reaches its rows in the task of its sources, and at once.
func (g *grower) grow(depth int, near bool) relation {
	if depth == 0 {
		return g.source()
	}
	kinds := 8
	if near {
		kinds = 2
	}
	switch kind, in := g.r.IntN(kinds), g.grow(depth-1, near); kind {
	case 0:
		return g.filtered(in)
	case 1:
		return g.mapped(in)
	case 2, 3, 4:
		return g.joined(in, g.grow(g.r.IntN(depth), near), kind-2)
	case 5, 6:
		return g.joinedOn(in, g.grow(g.r.IntN(depth), near), kind == 6)
	default:
		return g.grouped(in)
	}
}

func (g *grower) filtered(in relation) relation {
	salt := g.r.Int64N(4)
	keep := func(_, row string) bool { return (amount(row)+salt)%4 != 0 }
	return relation{in.table.Filter(keep), func(rows map[string]tableRows) tableRows {
		out := maps.Clone(in.eval(rows))
		maps.DeleteFunc(out, func(k, row string) bool { return !keep(k, row) })
		return out
	}}
}

func (g *grower) mapped(in relation) relation {
	salt := g.r.Int64N(50)
	f := func(row string) string { return rowOf(amount(row)+salt, 3*amount(row)+salt) }
	return relation{in.table.MapValues(f), func(rows map[string]tableRows) tableRows {
		out := tableRows{}
		for k, row := range in.eval(rows) {
			out[k] = f(row)
		}
		return out
	}}
}

// joined is an inner join for kind 0, a left one for 1, an outer one for 2.
func (g *grower) joined(l, r relation, kind int) relation {
	eval := func(rows map[string]tableRows) tableRows {
		out := tableRows{}
		left, right := l.eval(rows), r.eval(rows)
		for k, a := range left {
			if b, ok := right[k]; ok || kind > 0 {
				out[k] = combined(a, true, b, ok)
			}
		}
		for k, b := range right {
			if _, ok := left[k]; !ok && kind == 2 {
				out[k] = combined("", false, b, true)
			}
		}
		return out
	}
	switch kind {
	case 0:
		return relation{l.table.Join(r.table, combinedBoth, g.options()...), eval}
	case 1:
		return relation{l.table.LeftJoin(r.table, combinedLeft, g.options()...), eval}
	}
	return relation{l.table.OuterJoin(r.table, combinedFull, g.options()...), eval}
}

func (g *grower) joinedOn(l, r relation, left bool) relation {
	eval := func(rows map[string]tableRows) tableRows {
		out := tableRows{}
		right := r.eval(rows)
		for k, a := range l.eval(rows) {
			fk, has := foreignKey(k, a)
			if b, ok := right[fk]; has && ok || left {
				out[k] = combined(a, true, b, has && ok)
			}
		}
		return out
	}
	if left {
		return relation{l.table.LeftJoinOn(r.table, foreignKey, combinedLeft, g.options()...), eval}
	}
	return relation{l.table.JoinOn(r.table, foreignKey, combinedBoth, g.options()...), eval}
}

// grouped is one of the aggregates of a table. A group whose last row has left has no count, and is filtered out.
func (g *grower) grouped(in relation) relation {
	group := func(_, row string) string { return fmt.Sprint("k", amount(row)%5) }
	of := func(row string) int64 { return 100*amount(row) + 1 } // the sum of amounts, and how many there are
	kind := g.r.IntN(3)
	var t *stream.Table[string, int64]
	by := in.table.GroupBy(func(k, row string) (string, int64) { return group(k, row), of(row) }, stream.Named(fmt.Sprint("group", g.n)))
	switch kind {
	case 0:
		t = by.Count(g.options()...)
	case 1:
		t = by.Reduce(func(a, b int64) int64 { return a + b }, func(a, b int64) int64 { return a - b }, g.options()...)
	default:
		t = by.Aggregate(func() int64 { return 0 }, func(_ string, v, n int64) int64 { return n + v },
			func(_ string, v, n int64) int64 { return n - v }, g.options()...)
	}
	row := func(n int64) string { return rowOf(n, n) }
	return relation{t.Filter(func(_ string, n int64) bool { return n != 0 }).MapValues(row), func(rows map[string]tableRows) tableRows {
		sums := map[string]int64{}
		for k, v := range in.eval(rows) {
			n := of(v)
			if kind == 0 {
				n = 1
			}
			sums[group(k, v)] += n
		}
		out := tableRows{}
		for k, n := range sums {
			out[k] = row(n)
		}
		return out
	}}
}

// A random table has the rows that its relation says, whatever the order of updates, the partitions, the exchange, the places of the
// checkpoints and the crashes.
func TestRandomTablesAreRelational(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 11))
			g := newGrower(r)
			want := g.grow(1+r.IntN(4), false)
			want.table.To(kafka.Sink("out", serde.String, serde.String))
			d := streamtest.New(t, g.b, streamtest.Partitions([]int{1, 2, 5}[r.IntN(3)]), streamtest.ManualCheckpoints(), streamtest.StartAt(start),
				streamtest.Config(func(c *stream.Config) { c.Exchange = []stream.Exchange{stream.Local, stream.Kafka}[r.IntN(2)] }))
			rows := changeTables(d, r, g)
			for range 24 { // each exchange, and each table that emits at checkpoints, takes one
				d.Checkpoint()
			}
			got := streamtest.Rows(d.Out[string, string]("out"))
			if want := want.eval(rows); !maps.Equal(got, want) {
				t.Errorf("the table is\n%v, want\n%v", got, want)
			}
		})
	}
}

// changeTables sends changes to the sources of a topology, and returns the final rows.
func changeTables(d *streamtest.Driver, r *rand.Rand, g *grower) map[string]tableRows {
	var names []string
	ins := map[string]*streamtest.In[string, string]{}
	rows := map[string]tableRows{}
	for i := range 3 {
		if name := fmt.Sprint("t", i); g.sources[name].table != nil {
			names = append(names, name)
			ins[name], rows[name] = d.In[string, string](name), tableRows{}
		}
	}
	for range 60 {
		name, k := names[r.IntN(len(names))], fmt.Sprint("k", r.IntN(9))
		switch n := r.IntN(24); {
		case n == 0:
			d.Crash()
		case n < 3:
			d.Checkpoint()
		case n < 8:
			ins[name].SendRecord(stream.Record[string, string]{Key: k, Deleted: true, Time: someTime(r)})
			delete(rows[name], k)
		default:
			rows[name][k] = rowOf(r.Int64N(54), r.Int64N(50))
			ins[name].SendAt(someTime(r), k, rows[name][k])
		}
	}
	return rows
}

// someTime is in no order: tables go by that of their topics.
func someTime(r *rand.Rand) time.Time { return start.Add(time.Duration(r.IntN(1000)) * time.Second) }
