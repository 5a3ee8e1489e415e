package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// Map replaces key and value. The key counts as changed: the next keyed operator repartitions.
func (s *Stream[K, V]) Map[K2, V2 any](f func(k K, v V) (K2, V2), opts ...Option) *Stream[K2, V2] {
	op := &operator{make: func(in *instance) any {
		next, self := outs[K2, V2](in), in.self()
		if in.failing() {
			return recv[K, V](func(c *task.Context, k K, v V) {
				c.Fault = self
				k2, v2 := f(k, v)
				keyed(c, next, k2, v2)
			})
		}
		reject := in.rejection()
		return recv[K, V](func(c *task.Context, k K, v V) {
			var k2 K2
			var v2 V2
			if try(c, self, reject, func() { k2, v2 = f(k, v) }) {
				keyed(c, next, k2, v2)
			}
		})
	}}
	return then[K, V, K2, V2](s, s.b.add("map", plainOptions(opts), op, at(s.node)), true)
}

// keyed sends on a record that was given a key, and so has one even where its source had none.
func keyed[K, V any](c *task.Context, next recv[K, V], k K, v V) {
	noKey := c.NoKey
	c.NoKey = false
	next(c, k, v)
	c.NoKey = noKey
}
