package stream

import (
	"iter"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// Filter keeps the rows for which f is true. A row that stops matching is deleted.
func (t *Table[K, V]) Filter(f func(k K, v V) bool, opts ...Option) *Table[K, V] {
	op := &operator{needsOld: true, make: func(in *instance) any {
		next, self, reject := changes[K, V](in), in.self(), in.rejection()
		return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
			if !try(c, self, reject, func() {
				if ch.HadOld && !f(k, ch.Old) {
					ch.HadOld, ch.Old = false, *new(V)
				}
				if ch.HasNew && !f(k, ch.New) {
					ch.HasNew, ch.New = false, *new(V)
				}
			}) {
				return
			}
			if ch.HadOld || ch.HasNew {
				next(c, k, ch)
			}
		})
	}}
	n := t.b.add("filter-rows", plainOptions(opts), op, at(t.node))
	n.Table = true
	c := *t
	c.node = n
	c.lookup = func(in *instance) lookup[K, V] {
		get := t.lookup(in)
		return func(k K) (v V, at int64, ok bool) {
			if v, at, ok = get(k); ok && !f(k, v) {
				return *new(V), 0, false
			}
			return v, at, ok
		}
	}
	if t.asOf != nil {
		c.asOf = func(in *instance) asOf[K, V] {
			get := t.asOf(in)
			return func(k K, when int64) (v V, at int64, ok bool) {
				if v, at, ok = get(k, when); ok && !f(k, v) {
					return *new(V), 0, false
				}
				return v, at, ok
			}
		}
	}
	if t.scan != nil {
		c.scan = func(in *instance) scanner[K, V] {
			all := t.scan(in)
			return func(from, to *K) iter.Seq2[K, V] {
				return func(yield func(K, V) bool) {
					for k, v := range all(from, to) {
						if f(k, v) && !yield(k, v) {
							return
						}
					}
				}
			}
		}
	}
	return &c
}
