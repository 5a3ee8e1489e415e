package stream

import (
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// ToStream is the stream of new values. A deletion has none and is not in it: use To for a sink that must see
// deletions, and Changes for a stream that must.
func (t *Table[K, V]) ToStream(opts ...Option) *Stream[K, V] {
	op := &operator{keepsKey: true, make: func(in *instance) any {
		next := outs[K, V](in)
		return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
			if ch.HasNew {
				next(c, k, ch.New)
			}
		})
	}}
	return &Stream[K, V]{b: t.b, node: t.b.add("to-stream", plainOptions(opts), op, at(t.node)), key: t.key, value: t.value}
}
