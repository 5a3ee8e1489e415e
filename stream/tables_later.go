package stream

import (
	"github.com/weirstream/weir/connector"
)

// JoinOn joins on a foreign key; false from fk is no match. Tables need not be co-partitioned.
func (t *Table[K, V]) JoinOn[FK, V2, R any](o *Table[FK, V2], fk func(k K, v V) (FK, bool), f func(v V, v2 V2) R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: t.b, node: notBuilt(t.b, "Table.JoinOn", t.node)}
}

// LeftJoinOn keeps rows without a match.
func (t *Table[K, V]) LeftJoinOn[FK, V2, R any](o *Table[FK, V2], fk func(k K, v V) (FK, bool), f func(v V, v2 V2, ok bool) R, opts ...TableOption) *Table[K, R] {
	return &Table[K, R]{b: t.b, node: notBuilt(t.b, "Table.LeftJoinOn", t.node)}
}

// A Global is a table of which every process holds the whole.
type Global[K, V any] struct{}

// JoinGlobal looks up key(k, v) in g; false from key is no match.
func (s *Stream[K, V]) JoinGlobal[GK, V2, R any](g *Global[GK, V2], key func(k K, v V) (GK, bool), f func(v V, v2 V2) R, opts ...Option) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.JoinGlobal", s.node)}
}

// LeftJoinGlobal keeps records without a row, ok false.
func (s *Stream[K, V]) LeftJoinGlobal[GK, V2, R any](g *Global[GK, V2], key func(k K, v V) (GK, bool), f func(v V, v2 V2, ok bool) R, opts ...Option) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.LeftJoinGlobal", s.node)}
}

// Global reads a table of which every process holds the whole. It is loaded before processing starts.
func (b *Builder) Global[K, V any](src connector.Source[K, V], opts ...TableSourceOption) *Global[K, V] {
	notBuilt(b, "Builder.Global", nil)
	return &Global[K, V]{}
}
