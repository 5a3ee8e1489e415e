package stream

import (
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// Count counts records per key and span. Call it as .Count().
func (w *Windowed[K, V]) Count[WK window.KeyOf[K]](opts ...WindowOption) *Table[WK, int64] {
	return windowed[K, V, int64, WK](w, "count", serde.Int64, windowOptions(opts),
		func(_ K, _ V, n int64, _ bool) int64 { return n + 1 },
		func(_ K, a, b int64) int64 { return a + b })
}

// Reduce is described at Grouped. With [Associative] hopping windows share their panes.
func (w *Windowed[K, V]) Reduce[WK window.KeyOf[K]](f func(a, b V) V, opts ...ReduceOption) *Table[WK, V] {
	o := reduceOptions(opts)
	var merge func(k K, a, b V) V
	if o.associative {
		merge = func(_ K, a, b V) V { return f(a, b) }
	}
	return windowed[K, V, V, WK](w, "reduce", w.g.from.value, o, func(_ K, v, r V, had bool) V {
		if !had {
			return v
		}
		return f(r, v)
	}, merge)
}

// Aggregate is described at Grouped.
func (w *Windowed[K, V]) Aggregate[R any, WK window.KeyOf[K]](init func() R, add func(k K, v V, r R) R, opts ...WindowOption) *Table[WK, R] {
	return windowed[K, V, R, WK](w, "aggregate", nil, windowOptions(opts), func(k K, v V, r R, had bool) R {
		if !had {
			r = init()
		}
		return add(k, v, r)
	}, nil)
}

// AggregateMerge is Aggregate for hopping windows that share their panes: merge puts two aggregates together, that of the earlier time
// first. It may change both.
func (w *Windowed[K, V]) AggregateMerge[R any, WK window.KeyOf[K]](init func() R, add func(k K, v V, r R) R, merge func(k K, a, b R) R, opts ...WindowOption) *Table[WK, R] {
	return windowed[K, V, R, WK](w, "aggregate", nil, windowOptions(opts), func(k K, v V, r R, had bool) R {
		if !had {
			r = init()
		}
		return add(k, v, r)
	}, merge)
}
