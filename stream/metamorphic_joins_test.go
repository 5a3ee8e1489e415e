package stream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// A moved is a record of a topic: of a table's, where gone deletes, or of the stream's.
type moved struct {
	topic, key, value string
	noKey, gone       bool
	at                int64 // ms, no two the same
}

// How tables are looked up: as they are, as they were, and as they were once nothing can change that.
const (
	asIs = iota
	asWas
	waiting
)

// What the inputs of a random topology keep to: no record is late by more than the joins wait.
const (
	step  = 1000
	delay = 5 * time.Second
)

// A pipeline is a stream of a random topology, and what becomes of one of its records: was has the rows that were valid at its time.
type pipeline struct {
	stream *stream.Stream[string, string]
	eval   func(m moved, was map[string]tableRows) (moved, bool)
}

// flow makes a stream of so many operators. globals are the rows of the table that every task has.
func (g *grower) flow(depth, mode int, globals tableRows) pipeline {
	if depth == 0 {
		return pipeline{g.b.Source(kafka.Source("in", serde.String, serde.String)), func(m moved, _ map[string]tableRows) (moved, bool) { return m, true }}
	}
	in := g.flow(depth-1, mode, globals)
	switch kind := g.r.IntN(8); {
	case kind == 0:
		return in.map1(func(m moved) (moved, bool) { return m, amount(m.value)%4 != 0 },
			in.stream.Filter(func(_, v string) bool { return amount(v)%4 != 0 }))
	case kind == 1 && mode == waiting: // behind an exchange only a join that waits sees what it should
		return in.map1(func(m moved) (moved, bool) { m.key, _ = foreignKey("", m.value); m.noKey = false; return m, true },
			in.stream.SelectKey(func(_, v string) string { fk, _ := foreignKey("", v); return fk }))
	case kind < 4:
		return g.joinedGlobal(in, kind%2 == 0, globals)
	}
	return g.joinedTable(in, g.r.IntN(2) == 0, mode)
}

// map1 goes on with out, which does to a record what f says.
func (p pipeline) map1(f func(m moved) (moved, bool), out *stream.Stream[string, string]) pipeline {
	return pipeline{out, func(m moved, was map[string]tableRows) (moved, bool) {
		m, ok := p.eval(m, was)
		if ok {
			m, ok = f(m)
		}
		return m, ok
	}}
}

func (g *grower) joinedGlobal(in pipeline, left bool, globals tableRows) pipeline {
	f := func(m moved) (moved, bool) {
		fk, has := foreignKey("", m.value)
		row, ok := globals[fk]
		m.value = combined(m.value, true, row, has && ok)
		return m, has && ok || left
	}
	g.n++
	if left {
		return in.map1(f, in.stream.LeftJoinGlobal(g.global(), foreignKey, combinedLeft, stream.Named(fmt.Sprint("node", g.n))))
	}
	return in.map1(f, in.stream.JoinGlobal(g.global(), foreignKey, combinedBoth, stream.Named(fmt.Sprint("node", g.n))))
}

func (g *grower) global() *stream.Global[string, string] {
	if g.all == nil {
		g.all = g.b.Global(kafka.Source("global", serde.String, serde.String))
	}
	return g.all
}

// joinedTable looks records up in a table: one as it is may have operators behind its source.
func (g *grower) joinedTable(in pipeline, left bool, mode int) pipeline {
	g.n++
	opts := []stream.JoinTableOption{stream.Named(fmt.Sprint("node", g.n))}
	rel := g.lookedUp(mode)
	if mode == waiting {
		opts = append(opts, stream.WaitFor(delay))
	}
	eval := func(m moved, was map[string]tableRows) (moved, bool) {
		m, ok := in.eval(m, was)
		if !ok {
			return m, false
		}
		row, found := rel.eval(was)[m.key]
		found = found && !m.noKey
		m.value = combined(m.value, true, row, found)
		return m, found || left
	}
	if left {
		return pipeline{in.stream.LeftJoinTable(rel.table, combinedLeft, opts...), eval}
	}
	return pipeline{in.stream.JoinTable(rel.table, combinedBoth, opts...), eval}
}

func (g *grower) lookedUp(mode int) relation {
	switch {
	case mode != asIs:
		return g.source()
	case g.r.IntN(2) == 0:
		return g.joined(g.grow(g.r.IntN(3), true), g.grow(g.r.IntN(3), true), g.r.IntN(3))
	}
	return g.grow(g.r.IntN(3), true)
}

// moves are the records of all topics in an order in which they may be sent: that of time, or where joins wait any that is nearly that
// of time in each topic.
func moves(r *rand.Rand, topics []string, mode int) []moved {
	var all []moved
	for i := range int64(90) {
		m := moved{topic: topics[r.IntN(len(topics))], key: fmt.Sprint("k", r.IntN(9)), value: rowOf(r.Int64N(54), r.Int64N(50)), at: start.UnixMilli() + i*step}
		m.gone = m.topic != "in" && r.IntN(4) == 0
		m.noKey = m.topic == "in" && r.IntN(8) == 0
		if mode == waiting {
			m.at += i - r.Int64N(delay.Milliseconds()/step)*step // the last digits say which it is
		}
		all = append(all, m)
	}
	if mode != waiting {
		return all
	}
	var mixed []moved
	queues := map[string][]moved{}
	for _, m := range all {
		queues[m.topic] = append(queues[m.topic], m)
	}
	for len(mixed) < len(all) {
		topic := topics[r.IntN(len(topics))]
		n := min(len(queues[topic]), 1+r.IntN(12))
		mixed = append(mixed, queues[topic][:n]...)
		queues[topic] = queues[topic][n:]
	}
	return mixed
}

// rowsAt are those that the tables had at a time.
func rowsAt(all []moved, at int64) map[string]tableRows {
	all = slices.DeleteFunc(slices.Clone(all), func(m moved) bool { return m.at > at || m.topic == "in" })
	slices.SortFunc(all, func(a, b moved) int { return int(a.at - b.at) })
	rows := map[string]tableRows{"t0": {}, "t1": {}, "t2": {}}
	for _, m := range all {
		if m.gone {
			delete(rows[m.topic], m.key)
		} else {
			rows[m.topic][m.key] = m.value
		}
	}
	return rows
}

func (m moved) record() stream.Record[string, string] {
	return stream.Record[string, string]{Key: m.key, Value: m.value, NoKey: m.noKey, Deleted: m.gone, Time: time.UnixMilli(m.at)}
}

// A random stream that looks tables up gives for each record what the tables had at its time: whatever the partitions, the exchange, the
// places of the checkpoints and the crashes, and where joins wait whatever comes first.
func TestRandomJoinsAreRelational(t *testing.T) {
	for mode, name := range []string{"as is", "as was", "waiting"} {
		for seed := range uint64(100) {
			t.Run(fmt.Sprint(name, ", seed ", seed), func(t *testing.T) { joinAtRandom(t, rand.New(rand.NewPCG(seed, uint64(mode))), mode) })
		}
	}
}

func joinAtRandom(t *testing.T, r *rand.Rand, mode int) {
	g := newGrower(r)
	switch mode {
	case asWas:
		g.version = 5 * step * time.Millisecond
	case waiting:
		g.version = time.Hour
	}
	globals := tableRows{}
	p := g.flow(1+r.IntN(4), mode, globals)
	p.stream.To(kafka.Sink("out", serde.String, serde.String))
	d := streamtest.New(t, g.b, streamtest.Partitions([]int{1, 2, 5}[r.IntN(3)]), streamtest.ManualCheckpoints(), streamtest.StartAt(start),
		streamtest.Config(func(c *stream.Config) { c.Exchange = []stream.Exchange{stream.Local, stream.Kafka}[r.IntN(2)] }))
	if g.all != nil {
		fillGlobal(d.In[string, string]("global"), r, globals)
	}
	topics := []string{"in"}
	for i := range 3 {
		if name := fmt.Sprint("t", i); g.sources[name].table != nil {
			topics = append(topics, name)
		}
	}
	all := moves(r, topics, mode)
	got := sendMoves(d, r, topics, all)
	var want []string
	for _, m := range all {
		if m.topic != "in" {
			continue
		}
		if m, ok := p.eval(m, rowsAt(all, m.at)); ok {
			want = append(want, lineOf(m.record()))
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Error(difference(got, want))
	}
}

func lineOf(r stream.Record[string, string]) string {
	if r.NoKey {
		r.Key = "(none)"
	}
	return fmt.Sprintf("%d %s %s", r.Time.UnixMilli(), r.Key, r.Value)
}

// fillGlobal sends the rows of a global table, which are loaded before anything else, and some that are replaced and deleted.
func fillGlobal(in *streamtest.In[string, string], r *rand.Rand, rows tableRows) {
	for range 20 {
		k := fmt.Sprint("k", r.IntN(9))
		if r.IntN(4) == 0 {
			in.Delete(k)
			delete(rows, k)
			continue
		}
		rows[k] = rowOf(r.Int64N(54), r.Int64N(50))
		in.Send(k, rows[k])
	}
}

// sendMoves sends records with checkpoints and crashes in between, and returns what came out.
func sendMoves(d *streamtest.Driver, r *rand.Rand, topics []string, all []moved) (got []string) {
	ins := map[string]*streamtest.In[string, string]{}
	for _, name := range topics {
		ins[name] = d.In[string, string](name)
	}
	for _, m := range all {
		ins[m.topic].SendRecord(m.record())
		switch n := r.IntN(30); {
		case n == 0:
			d.Crash()
		case n < 4:
			d.Checkpoint()
		}
	}
	for _, name := range topics {
		ins[name].End()
	}
	for range 24 { // each exchange takes one
		d.Checkpoint()
	}
	for _, rec := range d.Out[string, string]("out").Read() {
		got = append(got, lineOf(rec))
	}
	slices.Sort(got)
	return got
}
