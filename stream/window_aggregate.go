package stream

import (
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// Count counts records per key and span. Call it as .Count().
func (w *Windowed[K, V]) Count[WK window.KeyOf[K]](opts ...WindowOption) *Table[WK, int64] {
	return windowed[K, V, int64, WK](w, "count", serde.Int64, windowOptions(opts), func(_ K, _ V, n int64, _ bool) int64 { return n + 1 })
}

// Reduce is described at Grouped.
func (w *Windowed[K, V]) Reduce[WK window.KeyOf[K]](f func(a, b V) V, opts ...WindowOption) *Table[WK, V] {
	return windowed[K, V, V, WK](w, "reduce", w.g.from.value, windowOptions(opts), func(_ K, v, r V, had bool) V {
		if !had {
			return v
		}
		return f(r, v)
	})
}

// Aggregate is described at Grouped.
func (w *Windowed[K, V]) Aggregate[R any, WK window.KeyOf[K]](init func() R, add func(k K, v V, r R) R, opts ...WindowOption) *Table[WK, R] {
	return windowed[K, V, R, WK](w, "aggregate", nil, windowOptions(opts), func(k K, v V, r R, had bool) R {
		if !had {
			r = init()
		}
		return add(k, v, r)
	})
}
