package stream

import (
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
)

// Filter keeps the records for which f is true.
func (s *Stream[K, V]) Filter(f func(k K, v V) bool, opts ...Option) *Stream[K, V] {
	return s.filter("filter", true, f, plainOptions(opts))
}

// FilterNot keeps the records for which f is false.
func (s *Stream[K, V]) FilterNot(f func(k K, v V) bool, opts ...Option) *Stream[K, V] {
	return s.filter("filter-not", false, f, plainOptions(opts))
}

func (s *Stream[K, V]) filter(kind string, keep bool, f func(k K, v V) bool, o settings) *Stream[K, V] {
	op := &operator{make: func(in *instance) any {
		next, self := outs[K, V](in), in.self()
		if in.failing() {
			return recv[K, V](func(c *task.Context, k K, v V) {
				c.Fault = self
				if f(k, v) == keep {
					next(c, k, v)
				}
			})
		}
		reject := in.rejection()
		return recv[K, V](func(c *task.Context, k K, v V) {
			var take bool
			if try(c, self, reject, func() { take = f(k, v) == keep }) && take {
				next(c, k, v)
			}
		})
	}}
	c := *s
	c.node = s.b.add(topology.Kind(kind), o, op, at(s.node))
	return &c
}
