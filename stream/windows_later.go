package stream

import (
	"time"

	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/window"
)

// TopN keeps the n greatest values per key, greatest first.
func (g *Grouped[K, V]) TopN[S SliceOf[V]](n int, compare func(a, b V) int, opts ...TableOption) *Table[K, S] {
	return &Table[K, S]{b: g.from.b, node: notBuilt(g.from.b, "Grouped.TopN", g.from.node)}
}

// Window aggregates per key and span.
func (g *Grouped[K, V]) Window(w window.Spec) *Windowed[K, V] {
	return &Windowed[K, V]{g}
}

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

// SliceOf is satisfied by []V alone; it is always inferred.
type SliceOf[V any] interface{ []V }

// A Windowed is a grouped stream about to be aggregated per span. Results are emitted as the aggregate's option says:
// by default OnClose, once and final. Its result's time is the last millisecond of the span; with the other policies it is the
// greatest time of its inputs.
type Windowed[K, V any] struct{ g *Grouped[K, V] }

// Count counts records per key and span. Call it as .Count().
func (w *Windowed[K, V]) Count[WK window.KeyOf[K]](opts ...WindowOption) *Table[WK, int64] {
	return &Table[WK, int64]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Windowed.Count", w.g.from.node)}
}

// Reduce is described at Grouped.
func (w *Windowed[K, V]) Reduce[WK window.KeyOf[K]](f func(a, b V) V, opts ...WindowOption) *Table[WK, V] {
	return &Table[WK, V]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Windowed.Reduce", w.g.from.node)}
}

// Aggregate is described at Grouped.
func (w *Windowed[K, V]) Aggregate[R any, WK window.KeyOf[K]](init func() R, add func(k K, v V, r R) R, opts ...WindowOption) *Table[WK, R] {
	return &Table[WK, R]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Windowed.Aggregate", w.g.from.node)}
}

// TopN is described at Grouped.
func (w *Windowed[K, V]) TopN[S SliceOf[V], WK window.KeyOf[K]](n int, compare func(a, b V) int, opts ...WindowOption) *Table[WK, S] {
	return &Table[WK, S]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Windowed.TopN", w.g.from.node)}
}

// Late is the stream of records that were late for every span they belong to. Without it they are counted and dropped.
func (w *Windowed[K, V]) Late() *Stream[K, V] {
	return &Stream[K, V]{b: w.g.from.b, node: notBuilt(w.g.from.b, "Windowed.Late", w.g.from.node)}
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
