package stream

import (
	"iter"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// MapValues replaces the value. A row that f rejects is not in the result.
func (t *Table[K, V]) MapValues[V2 any](f func(v V) V2, opts ...Option) *Table[K, V2] {
	op := &operator{make: func(in *instance) any {
		next, g, old, looked := changes[K, V2](in), in.guard(), needsOld(in.node), lookedUp(in.node)
		return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
			out := table.Change[V2]{HadOld: ch.HadOld}
			if ch.HadOld && old {
				out.HadOld = g.old(c, func() { out.Old = f(ch.Old) })
			}
			out.HasNew = ch.HasNew && g.new(c, func() { out.New = f(ch.New) })
			if out.HadOld || out.HasNew || looked {
				next(c, k, out)
			}
		})
	}}
	n := t.b.add("map-rows", plainOptions(opts), op, at(t.node))
	n.Table = true
	out := &Table[K, V2]{b: t.b, node: n, key: t.key, value: keep[V2](t.value), forms: t.forms, near: t.near, lookup: func(in *instance) lookup[K, V2] {
		get, looking := t.lookup(in), in.looking(n)
		return func(k K) (v V2, at int64, ok bool) {
			from, at, ok := get(k)
			ok = ok && looking.row(func() { v = f(from) })
			return v, at, ok
		}
	}}
	if t.asOf != nil {
		out.asOf = func(in *instance) asOf[K, V2] {
			get, looking := t.asOf(in), in.looking(n)
			return func(k K, when int64) (v V2, at int64, ok bool) {
				from, at, ok := get(k, when)
				ok = ok && looking.row(func() { v = f(from) })
				return v, at, ok
			}
		}
	}
	if t.scan != nil {
		out.scan = func(in *instance) scanner[K, V2] {
			all, looking := t.scan(in), in.looking(n)
			return func(from, to *K) iter.Seq2[K, V2] {
				return func(yield func(K, V2) bool) {
					for k, v := range all(from, to) {
						var v2 V2
						if looking.row(func() { v2 = f(v) }) && !yield(k, v2) {
							return
						}
					}
				}
			}
		}
	}
	return out
}
