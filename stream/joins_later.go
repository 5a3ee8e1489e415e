package stream

import (
	"github.com/weirstream/weir/window"
)

// Join matches records of two streams in time, by key. What it needs of o it buffers; so does o.
func (s *Stream[K, V]) Join[V2, R any](o *Stream[K, V2], w window.JoinSpec, f func(v V, v2 V2) R, opts ...Option) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.Join", s.node)}
}

// LeftJoin also emits records without a match, ok false, when their window has closed.
func (s *Stream[K, V]) LeftJoin[V2, R any](o *Stream[K, V2], w window.JoinSpec, f func(v V, v2 V2, ok bool) R, opts ...Option) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.LeftJoin", s.node)}
}

// OuterJoin also emits records without a match from either side.
func (s *Stream[K, V]) OuterJoin[V2, R any](o *Stream[K, V2], w window.JoinSpec, f func(v V, v2 V2, m Match) R, opts ...Option) *Stream[K, R] {
	return &Stream[K, R]{b: s.b, node: notBuilt(s.b, "Stream.OuterJoin", s.node)}
}

// Match says which sides of an outer join are there.
type Match uint8

// The missing side's value is zero.
const (
	Both Match = iota
	LeftOnly
	RightOnly
)
