package stream

import (
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/window"
)

// Cogroup starts an aggregate fed by several streams.
func (g *Grouped[K, V]) Cogroup[R any](add func(k K, v V, r R) R) *Cogrouped[K, R] {
	return &Cogrouped[K, R]{b: g.from.b, node: g.from.node}
}

// A Cogrouped is one aggregate of several streams.
type Cogrouped[K, R any] struct {
	b    *Builder
	node *topology.Node
}

// And adds a stream.
func (c *Cogrouped[K, R]) And[V any](g *Grouped[K, V], add func(k K, v V, r R) R) *Cogrouped[K, R] {
	return c
}

// Aggregate ends it per key.
func (c *Cogrouped[K, R]) Aggregate(init func() R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: c.b, node: notBuilt(c.b, "Cogrouped.Aggregate", c.node)}
}

// AggregateWindow ends it per key and span.
func (c *Cogrouped[K, R]) AggregateWindow[WK window.KeyOf[K]](w window.Spec, init func() R, opts ...WindowOption) *Table[WK, R] {
	return &Table[WK, R]{b: c.b, node: notBuilt(c.b, "Cogrouped.AggregateWindow", c.node)}
}

// AggregateSession ends it per key and session.
func (c *Cogrouped[K, R]) AggregateSession[WK window.KeyOf[K]](w window.SessionSpec, init func() R, merge func(k K, a, b R) R, opts ...WindowOption) *Table[WK, R] {
	return &Table[WK, R]{b: c.b, node: notBuilt(c.b, "Cogrouped.AggregateSession", c.node)}
}
