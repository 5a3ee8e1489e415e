package stream

import (
	"github.com/weirstream/weir/internal/topology"
)

// Merge adds the records of other streams. Their order among each other is not defined.
func (s *Stream[K, V]) Merge(others ...*Stream[K, V]) *Stream[K, V] {
	c := *s
	parents := []topology.Edge{at(s.node)}
	for _, o := range others {
		parents = append(parents, at(o.node))
		c.rekeyed = c.rekeyed || o.rekeyed
	}
	c.node = s.b.add("merge", settings{line: caller()}, &operator{keepsKey: true, make: func(in *instance) any { return outs[K, V](in) }}, parents...)
	return &c
}
