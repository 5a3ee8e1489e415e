package stream

import (
	"iter"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// MapValues replaces the value.
func (t *Table[K, V]) MapValues[V2 any](f func(v V) V2, opts ...Option) *Table[K, V2] {
	op := &operator{make: func(in *instance) any {
		next, self, reject, old := changes[K, V2](in), in.self(), in.rejection(), needsOld(in.node)
		return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
			out := table.Change[V2]{HadOld: ch.HadOld, HasNew: ch.HasNew}
			if try(c, self, reject, func() {
				if ch.HasNew {
					out.New = f(ch.New)
				}
				if ch.HadOld && old {
					out.Old = f(ch.Old)
				}
			}) {
				next(c, k, out)
			}
		})
	}}
	n := t.b.add("map-rows", plainOptions(opts), op, at(t.node))
	n.Table = true
	out := &Table[K, V2]{b: t.b, node: n, key: t.key, value: keep[V2](t.value), forms: t.forms, lookup: func(in *instance) lookup[K, V2] {
		get := t.lookup(in)
		return func(k K) (v V2, at int64, ok bool) {
			from, at, ok := get(k)
			if ok {
				v = f(from)
			}
			return v, at, ok
		}
	}}
	if t.asOf != nil {
		out.asOf = func(in *instance) asOf[K, V2] {
			get := t.asOf(in)
			return func(k K, when int64) (v V2, at int64, ok bool) {
				from, at, ok := get(k, when)
				if ok {
					v = f(from)
				}
				return v, at, ok
			}
		}
	}
	if t.scan != nil {
		out.scan = func(in *instance) scanner[K, V2] {
			all := t.scan(in)
			return func(from, to *K) iter.Seq2[K, V2] {
				return func(yield func(K, V2) bool) {
					for k, v := range all(from, to) {
						if !yield(k, f(v)) {
							return
						}
					}
				}
			}
		}
	}
	return out
}
