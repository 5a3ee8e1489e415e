package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// FlatMapValues replaces each value by any number of values. It may return a slice it was given.
func (s *Stream[K, V]) FlatMapValues[V2 any](f func(v V) []V2, opts ...Option) *Stream[K, V2] {
	op := &operator{make: func(in *instance) any {
		next, self := outs[K, V2](in), in.self()
		if in.failing() {
			return recv[K, V](func(c *task.Context, k K, v V) {
				c.Fault = self
				for _, v2 := range f(v) {
					next(c, k, v2)
				}
			})
		}
		reject := in.rejection()
		return recv[K, V](func(c *task.Context, k K, v V) {
			var vs []V2
			try(c, self, reject, func() { vs = f(v) })
			for _, v2 := range vs {
				next(c, k, v2)
			}
		})
	}}
	return then[K, V, K, V2](s, s.b.add("flat-map-values", plainOptions(opts), op, at(s.node)), s.rekeyed)
}
