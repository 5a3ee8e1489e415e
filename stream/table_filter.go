package stream

import (
	"iter"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// Filter keeps the rows for which f is true. A row that stops matching, or that f rejects, is deleted.
func (t *Table[K, V]) Filter(f func(k K, v V) bool, opts ...Option) *Table[K, V] {
	op := &operator{needsOld: true, make: func(in *instance) any {
		next, g, looked := changes[K, V](in), in.guard(), lookedUp(in.node)
		return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
			if kept := false; ch.HadOld && (!g.old(c, func() { kept = f(k, ch.Old) }) || !kept) {
				ch.HadOld, ch.Old = false, *new(V)
			}
			if kept := false; ch.HasNew && (!g.new(c, func() { kept = f(k, ch.New) }) || !kept) {
				ch.HasNew, ch.New = false, *new(V)
			}
			if ch.HadOld || ch.HasNew || looked {
				next(c, k, ch)
			}
		})
	}}
	n := t.b.add("filter-rows", plainOptions(opts), op, at(t.node))
	n.Table = true
	c := *t
	c.node = n
	c.lookup = func(in *instance) lookup[K, V] {
		get, looking := t.lookup(in), in.looking(n)
		return func(k K) (v V, at int64, ok bool) {
			v, at, ok = get(k)
			if kept := false; ok && (!looking.row(func() { kept = f(k, v) }) || !kept) {
				return *new(V), 0, false
			}
			return v, at, ok
		}
	}
	if t.asOf != nil {
		c.asOf = func(in *instance) asOf[K, V] {
			get, looking := t.asOf(in), in.looking(n)
			return func(k K, when int64) (v V, at int64, ok bool) {
				v, at, ok = get(k, when)
				if kept := false; ok && (!looking.row(func() { kept = f(k, v) }) || !kept) {
					return *new(V), 0, false
				}
				return v, at, ok
			}
		}
	}
	if t.scan != nil {
		c.scan = func(in *instance) scanner[K, V] {
			all, looking := t.scan(in), in.looking(n)
			return func(from, to *K) iter.Seq2[K, V] {
				return func(yield func(K, V) bool) {
					for k, v := range all(from, to) {
						if kept := false; looking.row(func() { kept = f(k, v) }) && kept && !yield(k, v) {
							return
						}
					}
				}
			}
		}
	}
	return &c
}
