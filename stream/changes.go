package stream

import (
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// Changes is the stream of changes, deletions among them.
func (t *Table[K, V]) Changes[C table.ChangeOf[V]](opts ...Option) *Stream[K, C] {
	op := &operator{needsOld: true, keepsKey: true, make: func(in *instance) any {
		next := outs[K, C](in)
		return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
			if ch.HadOld || ch.HasNew {
				next(c, k, C(ch))
			}
		})
	}}
	return &Stream[K, C]{b: t.b, node: t.b.add("changes", plainOptions(opts), op, at(t.node)), key: t.key}
}
