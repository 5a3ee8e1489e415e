package stream

import (
	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// Join has a row where both tables have one.
func (t *Table[K, V]) Join[V2, R any](o *Table[K, V2], f func(v V, v2 V2) R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: t.b, node: notBuilt(t.b, "Table.Join", t.node)}
}

// LeftJoin has a row for every row of t.
func (t *Table[K, V]) LeftJoin[V2, R any](o *Table[K, V2], f func(v V, v2 V2, ok bool) R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: t.b, node: notBuilt(t.b, "Table.LeftJoin", t.node)}
}

// OuterJoin has a row where either has one.
func (t *Table[K, V]) OuterJoin[V2, R any](o *Table[K, V2], f func(v V, v2 V2, m Match) R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: t.b, node: notBuilt(t.b, "Table.OuterJoin", t.node)}
}

// JoinOn joins on a foreign key; false from fk is no match. Tables need not be co-partitioned.
func (t *Table[K, V]) JoinOn[FK, V2, R any](o *Table[FK, V2], fk func(k K, v V) (FK, bool), f func(v V, v2 V2) R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: t.b, node: notBuilt(t.b, "Table.JoinOn", t.node)}
}

// LeftJoinOn keeps rows without a match.
func (t *Table[K, V]) LeftJoinOn[FK, V2, R any](o *Table[FK, V2], fk func(k K, v V) (FK, bool), f func(v V, v2 V2, ok bool) R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: t.b, node: notBuilt(t.b, "Table.LeftJoinOn", t.node)}
}

// GroupBy prepares an aggregation of rows by another key. It follows changes and deletions, which
// ToStream().GroupBy() does not: that one counts updates.
func (t *Table[K, V]) GroupBy[K2, V2 any](f func(k K, v V) (K2, V2), opts ...RepartitionOption) *GroupedTable[K2, V2] {
	return &GroupedTable[K2, V2]{b: t.b, node: t.node}
}

// A Global is a table of which every process holds the whole.
type Global[K, V any] struct{}

// A GroupedTable is a table about to be aggregated by another key.
type GroupedTable[K, V any] struct {
	b    *Builder
	node *topology.Node
}

// Count counts rows.
func (g *GroupedTable[K, V]) Count(opts ...TableOption) *Table[K, int64] {
	return &Table[K, int64]{b: g.b, node: notBuilt(g.b, "GroupedTable.Count", g.node)}
}

// Aggregate folds rows in with add and takes them out again with sub.
func (g *GroupedTable[K, V]) Aggregate[R any](init func() R, add, sub func(k K, v V, r R) R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: g.b, node: notBuilt(g.b, "GroupedTable.Aggregate", g.node)}
}

// Reduce is Aggregate with values for aggregates; its first value is taken as it is.
func (g *GroupedTable[K, V]) Reduce(add, sub func(a, b V) V, opts ...TableOption) *Table[K, V] {
	return &Table[K, V]{b: g.b, node: notBuilt(g.b, "GroupedTable.Reduce", g.node)}
}

// TopN keeps the n greatest rows per key; it stores them all to replace one that is deleted.
func (g *GroupedTable[K, V]) TopN[S SliceOf[V]](n int, compare func(a, b V) int, opts ...TableOption) *Table[K, S] {
	return &Table[K, S]{b: g.b, node: notBuilt(g.b, "GroupedTable.TopN", g.node)}
}

// KeySerde is described at Stream.
func (g *GroupedTable[K, V]) KeySerde(k serde.Serde[K]) *GroupedTable[K, V] { return g }

// ValueSerde is described at Stream.
func (g *GroupedTable[K, V]) ValueSerde(v serde.Serde[V]) *GroupedTable[K, V] { return g }

// JoinTable looks up each record's key in t, as t is then; with a [Versioned] t, as it was at the record's time.
func (s *Stream[K, V]) JoinTable[V2, R any](t *Table[K, V2], f func(v V, v2 V2) R, opts ...JoinTableOption) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.JoinTable", s.node)}
}

// LeftJoinTable keeps records without a row, ok false.
func (s *Stream[K, V]) LeftJoinTable[V2, R any](t *Table[K, V2], f func(v V, v2 V2, ok bool) R, opts ...JoinTableOption) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.LeftJoinTable", s.node)}
}

// JoinGlobal looks up key(k, v) in g; false from key is no match.
func (s *Stream[K, V]) JoinGlobal[GK, V2, R any](g *Global[GK, V2], key func(k K, v V) (GK, bool), f func(v V, v2 V2) R, opts ...Option) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.JoinGlobal", s.node)}
}

// LeftJoinGlobal keeps records without a row, ok false.
func (s *Stream[K, V]) LeftJoinGlobal[GK, V2, R any](g *Global[GK, V2], key func(k K, v V) (GK, bool), f func(v V, v2 V2, ok bool) R, opts ...Option) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.LeftJoinGlobal", s.node)}
}

// ToTable takes the latest value per key as a row.
func (s *Stream[K, V]) ToTable(opts ...TableOption) *Table[K, V] {
	return &Table[K, V]{b: s.b, node: notBuilt(s.b, "Stream.ToTable", s.node)}
}

// Table reads a table: the latest value per key, a null value deletes. The topic is its own changelog.
// A table does not hold back the watermark unless it is [Versioned]: a dimension that rarely changes,
// or was loaded with old timestamps, must not stall windows.
func (b *Builder) Table[K, V any](src connector.Source[K, V], opts ...TableSourceOption) *Table[K, V] {
	return &Table[K, V]{b: b, node: notBuilt(b, "Builder.Table", nil)}
}

// Global reads a table of which every process holds the whole. It is loaded before processing starts.
func (b *Builder) Global[K, V any](src connector.Source[K, V], opts ...TableSourceOption) *Global[K, V] {
	notBuilt(b, "Builder.Global", nil)
	return &Global[K, V]{}
}
