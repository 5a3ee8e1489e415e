package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// SelectKey replaces the key.
func (s *Stream[K, V]) SelectKey[K2 any](f func(k K, v V) K2, opts ...Option) *Stream[K2, V] {
	return selectKey(s, f, plainOptions(opts))
}

func selectKey[K, V, K2 any](s *Stream[K, V], f func(k K, v V) K2, o settings) *Stream[K2, V] {
	op := &operator{make: func(in *instance) any {
		next, self := outs[K2, V](in), in.self()
		if in.failing() {
			return recv[K, V](func(c *task.Context, k K, v V) {
				c.Fault = self
				keyed(c, next, f(k, v), v)
			})
		}
		reject := in.rejection()
		return recv[K, V](func(c *task.Context, k K, v V) {
			var k2 K2
			if try(c, self, reject, func() { k2 = f(k, v) }) {
				keyed(c, next, k2, v)
			}
		})
	}}
	return then[K, V, K2, V](s, s.b.add("select-key", o, op, at(s.node)), true)
}
