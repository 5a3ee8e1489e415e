package stream

import (
	"time"

	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/window"
)

// Session aggregates per key and session.
func (g *Grouped[K, V]) Session(w window.SessionSpec) *Sessions[K, V] {
	return &Sessions[K, V]{g}
}

// SessionBy is Session with a gap per record.
func (g *Grouped[K, V]) SessionBy(w window.SessionSpec, gap func(k K, v V) time.Duration) *Sessions[K, V] {
	return &Sessions[K, V]{g}
}

// Cogroup starts an aggregate fed by several streams.
func (g *Grouped[K, V]) Cogroup[R any](add func(k K, v V, r R) R) *Cogrouped[K, R] {
	return &Cogrouped[K, R]{b: g.from.b, node: g.from.node}
}

// Sessions is a grouped stream about to be aggregated per session. Policies are as for Windowed; before it closes, a
// session that grows is deleted under its old span and emitted under its new one.
type Sessions[K, V any] struct{ g *Grouped[K, V] }

// Count counts records per key and session.
func (w *Sessions[K, V]) Count[WK window.KeyOf[K]](opts ...WindowOption) *Table[WK, int64] {
	return &Table[WK, int64]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Sessions.Count", w.g.from.node)}
}

// Reduce is described at Grouped; f also merges sessions.
func (w *Sessions[K, V]) Reduce[WK window.KeyOf[K]](f func(a, b V) V, opts ...WindowOption) *Table[WK, V] {
	return &Table[WK, V]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Sessions.Reduce", w.g.from.node)}
}

// Aggregate folds a session's values; merge joins two sessions that a record connected, the earlier one first.
func (w *Sessions[K, V]) Aggregate[R any, WK window.KeyOf[K]](init func() R, add func(k K, v V, r R) R, merge func(k K, a, b R) R, opts ...WindowOption) *Table[WK, R] {
	return &Table[WK, R]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Sessions.Aggregate", w.g.from.node)}
}

// Late is described at Windowed.
func (w *Sessions[K, V]) Late() *Stream[K, V] {
	return &Stream[K, V]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Sessions.Late", w.g.from.node)}
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
