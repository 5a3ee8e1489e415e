package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// MapValues replaces the value and keeps key and partition.
func (s *Stream[K, V]) MapValues[V2 any](f func(v V) V2, opts ...Option) *Stream[K, V2] {
	op := &operator{keepsKey: true, make: func(in *instance) any {
		next, self := outs[K, V2](in), in.self()
		if in.failing() {
			return recv[K, V](func(c *task.Context, k K, v V) {
				c.Fault = self
				next(c, k, f(v))
			})
		}
		reject := in.rejection()
		return recv[K, V](func(c *task.Context, k K, v V) {
			var v2 V2
			if try(c, self, reject, func() { v2 = f(v) }) {
				next(c, k, v2)
			}
		})
	}}
	return then[K, V, K, V2](s, s.b.add("map-values", plainOptions(opts), op, at(s.node)), s.rekeyed)
}
