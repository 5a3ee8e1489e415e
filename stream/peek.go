package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// Peek calls f for each record. It runs again for what is replayed after a crash.
func (s *Stream[K, V]) Peek(f func(k K, v V), opts ...Option) *Stream[K, V] {
	op := &operator{keepsKey: true, make: func(in *instance) any {
		next, self := outs[K, V](in), in.self()
		if in.failing() {
			return recv[K, V](func(c *task.Context, k K, v V) {
				c.Fault = self
				f(k, v)
				next(c, k, v)
			})
		}
		reject := in.rejection()
		return recv[K, V](func(c *task.Context, k K, v V) {
			if try(c, self, reject, func() { f(k, v) }) {
				next(c, k, v)
			}
		})
	}}
	c := *s
	c.node = s.b.add("peek", plainOptions(opts), op, at(s.node))
	return &c
}
