package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// Join matches records of two streams in time, by key. What it needs of o it buffers; so does o. A result has the later of the two
// times, and comes when the later of the two records does. Records without a key match nothing and are counted.
func (s *Stream[K, V]) Join[V2, R any](o *Stream[K, V2], w window.JoinSpec, f func(v V, v2 V2) R, opts ...Option) *Stream[K, R] {
	return join(s, o, w, 0, plainOptions(opts), func(v V, v2 V2, _ Match) R { return f(v, v2) })
}

// LeftJoin also emits records without a match, ok false, when their window has closed: then no match can come any more. A record
// without a key has none and is emitted at once.
func (s *Stream[K, V]) LeftJoin[V2, R any](o *Stream[K, V2], w window.JoinSpec, f func(v V, v2 V2, ok bool) R, opts ...Option) *Stream[K, R] {
	return join(s, o, w, leftAlone, plainOptions(opts), func(v V, v2 V2, m Match) R { return f(v, v2, m == Both) })
}

// OuterJoin also emits records without a match from either side.
func (s *Stream[K, V]) OuterJoin[V2, R any](o *Stream[K, V2], w window.JoinSpec, f func(v V, v2 V2, m Match) R, opts ...Option) *Stream[K, R] {
	return join(s, o, w, leftAlone|rightAlone, plainOptions(opts), f)
}

// Match says which sides of an outer join are there.
type Match uint8

// The missing side's value is zero.
const (
	Both Match = iota
	LeftOnly
	RightOnly
)

// alonest says which sides are emitted when they have no match.
type alonest uint8

const (
	leftAlone alonest = 1 << iota
	rightAlone
)

// join makes the node of a join of streams.
func join[K, V, V2, R any](s *Stream[K, V], o *Stream[K, V2], w window.JoinSpec, alone alonest, opts settings, f func(v V, v2 V2, m Match) R) *Stream[K, R] {
	b := s.b
	if err := w.Validate(); err != nil {
		b.problem(opts.line, err)
		w = window.Within(0)
	}
	if o.b != b {
		b.problem(opts.line, fmt.Errorf("join: the other stream belongs to another builder"))
	}
	name := opts.name
	if name == "" {
		name = base(s.node) + "-" + base(o.node) + "-join"
	}
	left, right := partitioned(s, name+"-left", settings{line: opts.line}), partitioned(o, name+"-right", settings{line: opts.line})
	opts.name = name
	op := &operator{stores: []storeSpec{rowStoreSpec(name + "-left"), rowStoreSpec(name + "-right")}}
	op.patience = w.Engine().Grace
	op.bind = bindJoin(left.key, left.value, right.value)
	op.make = func(in *instance) any {
		j := newJoiner[K, V, V2, R](in, w.Engine(), alone, f)
		return []any{recv[K, V](j.left), recv[K, V2](j.right)}
	}
	n := b.add("join", opts, op, topology.Edge{Node: left.node, Port: 0}, topology.Edge{Node: right.node, Port: 1})
	n.Stores, n.Detail = namesOf(op.stores), w.String()
	return &Stream[K, R]{b: b, node: n, key: left.key, value: keep[R](left.value, right.value)}
}

// joinSerdes are those of a join's buffers, bound.
type joinSerdes[K, V, V2 any] struct {
	key   serde.Serde[K]
	left  serde.Serde[V]
	right serde.Serde[V2]
}

func bindJoin[K, V, V2 any](key serde.Serde[K], left serde.Serde[V], right serde.Serde[V2]) func(*binding) (any, error) {
	return func(b *binding) (any, error) {
		k, err := bindInternal(b, key, true)
		if err != nil {
			return nil, err
		}
		l, err := bindInternal(b, left, false)
		if err != nil {
			return nil, fmt.Errorf("left %w", err)
		}
		r, err := bindInternal(b, right, false)
		if err != nil {
			return nil, fmt.Errorf("right %w", err)
		}
		return &joinSerdes[K, V, V2]{k, l, r}, nil
	}
}
