package stream

import "github.com/weirstream/weir/serde"

// Count counts records per key.
func (g *Grouped[K, V]) Count[S SliceOf[V]](opts ...TableOption) *Table[K, int64] {
	return aggregate(g, "count", serde.Int64, tableOptions(opts), func(_ K, _ V, n int64, _ bool) int64 { return n + 1 })
}
