package stream

// Reduce combines the values of a key.
func (g *Grouped[K, V]) Reduce[S SliceOf[V]](f func(a, b V) V, opts ...TableOption) *Table[K, V] {
	return aggregate(g, "reduce", g.from.value, tableOptions(opts), func(_ K, v, r V, had bool) V {
		if !had {
			return v
		}
		return f(r, v)
	})
}
