package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// FlatMap replaces each record by those that f emits. The key counts as changed.
func (s *Stream[K, V]) FlatMap[K2, V2 any](f func(k K, v V, emit func(K2, V2)), opts ...Option) *Stream[K2, V2] {
	op := &operator{make: func(in *instance) any {
		next, self := outs[K2, V2](in), in.self()
		c := &in.task.Context
		emit := func(k K2, v V2) {
			keyed(c, next, k, v)
			c.Fault = self
		}
		if in.failing() {
			return recv[K, V](func(c *task.Context, k K, v V) {
				c.Fault = self
				f(k, v, emit)
			})
		}
		reject := in.rejection()
		return recv[K, V](func(c *task.Context, k K, v V) {
			try(c, self, reject, func() { f(k, v, emit) })
		})
	}}
	return then[K, V, K2, V2](s, s.b.add("flat-map", plainOptions(opts), op, at(s.node)), true)
}
