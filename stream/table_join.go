package stream

import (
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/table"
)

// Join has a row where both tables have one.
func (t *Table[K, V]) Join[V2, R any](o *Table[K, V2], f func(v V, v2 V2) R, opts ...TableOption) *Table[K, R] {
	return joinTables(t, o, alone2{}, func(v V, v2 V2, _ Match) R { return f(v, v2) }, tableOptions(opts))
}

// LeftJoin has a row for every row of t.
func (t *Table[K, V]) LeftJoin[V2, R any](o *Table[K, V2], f func(v V, v2 V2, ok bool) R, opts ...TableOption) *Table[K, R] {
	return joinTables(t, o, alone2{left: true}, func(v V, v2 V2, m Match) R { return f(v, v2, m == Both) }, tableOptions(opts))
}

// OuterJoin has a row where either has one.
func (t *Table[K, V]) OuterJoin[V2, R any](o *Table[K, V2], f func(v V, v2 V2, m Match) R, opts ...TableOption) *Table[K, R] {
	return joinTables(t, o, alone2{left: true, right: true}, f, tableOptions(opts))
}

// alone2 says which rows are in the result without one on the other side.
type alone2 struct{ left, right bool }

func joinTables[K, V, V2, R any](t *Table[K, V], o *Table[K, V2], alone alone2, f func(v V, v2 V2, m Match) R, s settings) *Table[K, R] {
	name := s.name
	if name == "" {
		name = t.node.Name + "-join-" + o.node.Name
	}
	out := stored[K, R](t.b, "join-tables", name, s, t.key, nil, func(in *instance, r *rows[K, R], e *emitter[K, R]) any {
		if t.near != nil && o.near != nil {
			looksAhead(in, allAhead(o.near(in), r.near()), allAhead(t.near(in), r.near()))
		}
		j := &tablesJoiner[K, V, V2, R]{left: t.lookup(in), right: o.lookup(in), alone: alone, f: f, call: in.guard(),
			up: upserter[K, R]{rows: r, emit: e, node: in.self(), reject: in.rejection(),
				noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key")}}
		return []any{recv[K, table.Change[V]](j.fromLeft), recv[K, table.Change[V2]](j.fromRight)}
	}, at(t.node), topology.Edge{Node: o.node, Port: 1})
	specOf(out.node).looksUp = true
	return out
}

// A tablesJoiner follows two tables. A change of either side is joined with the other side's row as it is now, and the result kept:
// so what comes out is a change of the result, whatever came in between.
type tablesJoiner[K, V, V2, R any] struct {
	left  lookup[K, V]
	right lookup[K, V2]
	alone alone2
	f     func(v V, v2 V2, m Match) R
	call  *guard
	up    upserter[K, R]
}

func (j *tablesJoiner[K, V, V2, R]) fromLeft(c *task.Context, k K, ch table.Change[V]) {
	v2, t, ok := j.right(k)
	j.result(c, k, ch.New, ch.HasNew, v2, ok, later(c.Time, t, ok))
}

func (j *tablesJoiner[K, V, V2, R]) fromRight(c *task.Context, k K, ch table.Change[V2]) {
	v, t, ok := j.left(k)
	j.result(c, k, v, ok, ch.New, ch.HasNew, later(c.Time, t, ok))
}

// result computes and applies the joined row, as of a time: the later one of the update's, a deletion among them, and the other row's.
func (j *tablesJoiner[K, V, V2, R]) result(c *task.Context, k K, v V, has bool, v2 V2, has2 bool, time int64) {
	m, ok := Both, true
	switch {
	case has && has2:
	case has && j.alone.left:
		m = LeftOnly
	case has2 && j.alone.right:
		m = RightOnly
	default:
		ok = false
	}
	var r R
	ok = ok && j.call.new(c, func() { r = j.f(v, v2, m) })
	j.up.apply(c, k, r, ok, time)
}

// later is the later one of an update's time and that of the other row, if there is one.
func later(t, other int64, ok bool) int64 {
	if ok {
		return max(t, other)
	}
	return t
}
