package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// Cogroup starts an aggregate fed by several streams.
func (g *Grouped[K, V]) Cogroup[R any](add func(k K, v V, r R) R) *Cogrouped[K, R] {
	c := &Cogrouped[K, R]{b: g.from.b}
	return c.And(g, add)
}

// A Cogrouped is one aggregate of several streams: one R per key, to which each stream adds in its own way, in the order of time.
type Cogrouped[K, R any] struct {
	b       *Builder
	members []member[K, R]
}

// A member is one of the streams, its values hidden.
type member[K, R any] struct {
	name      func(o settings, kind string) string
	partition func(name string) (*topology.Node, serde.Serde[K])
	// receive makes the receiver of the stream's records, which hands each on as a step of the fold.
	receive func(init func() R, next recv[K, step[R]]) any
	// keeper is what sliding windows need of it.
	keeper func(b *binding, init func() R) (keeper[K, R], error)
}

// A step adds the record at hand to an aggregate.
type step[R any] = func(r R, had bool) R

// And adds a stream. It changes c, and returns it.
func (c *Cogrouped[K, R]) And[V any](g *Grouped[K, V], add func(k K, v V, r R) R) *Cogrouped[K, R] {
	if g.from.b != c.b {
		c.b.problem(caller(), fmt.Errorf("And: the stream belongs to another builder"))
		return c
	}
	c.members = append(c.members, member[K, R]{
		name: g.name,
		partition: func(name string) (*topology.Node, serde.Serde[K]) {
			s := groupedBy(g, name)
			return s.node, s.key
		},
		receive: func(init func() R, next recv[K, step[R]]) any {
			f := &feeding[K, V, R]{init: init, add: add, next: next}
			f.step = f.fold
			return recv[K, V](f.receive)
		},
		keeper: func(b *binding, init func() R) (keeper[K, R], error) { return keeps(b, g.from.value, init, add) },
	})
	return c
}

// A feeding makes steps of a stream's records. The step is one function, made once, that looks at the record at hand.
type feeding[K, V, R any] struct {
	init func() R
	add  func(k K, v V, r R) R
	next recv[K, step[R]]
	step step[R]
	k    K
	v    V
}

func (f *feeding[K, V, R]) receive(c *task.Context, k K, v V) {
	f.k, f.v = k, v
	f.next(c, k, f.step)
}

func (f *feeding[K, V, R]) fold(r R, had bool) R {
	if !had {
		r = f.init()
	}
	return f.add(f.k, f.v, r)
}

// take is the fold of operators whose values are steps.
func take[K, R any](_ K, s step[R], r R, had bool) R { return s(r, had) }

// parts are the edges that the streams come by, where their keys belong.
func (c *Cogrouped[K, R]) parts(name string) (parents []topology.Edge, key serde.Serde[K]) {
	for i, m := range c.members {
		part := name
		if i > 0 {
			part = fmt.Sprintf("%s-%d", name, i+1)
		}
		n, k := m.partition(part)
		if key == nil {
			key = k
		}
		parents = append(parents, topology.Edge{Node: n, Port: i})
	}
	return parents, key
}

// receivers are those of the streams, by port.
func (c *Cogrouped[K, R]) receivers(init func() R, next recv[K, step[R]]) any {
	var ports []any
	for _, m := range c.members {
		ports = append(ports, m.receive(init, next))
	}
	return ports
}

const cogroup = "cogroup"

// Aggregate ends it per key.
func (c *Cogrouped[K, R]) Aggregate[S SliceOf[R]](init func() R, opts ...TableOption) *Table[K, R] {
	o := tableOptions(opts)
	name := c.members[0].name(o, cogroup)
	parents, key := c.parts(name)
	return stored(c.b, cogroup, name, o, key, nil, func(in *instance, r *rows[K, R], e *emitter[K, R]) any {
		a := newAggregator(in, r, e, take[K, R])
		return c.receivers(init, a.receive)
	}, parents...)
}

// AggregateWindow ends it per key and span.
func (c *Cogrouped[K, R]) AggregateWindow[WK window.KeyOf[K]](w window.Spec, init func() R, opts ...WindowOption) *Table[WK, R] {
	c.b.validate(w.Validate())
	o := windowOptions(opts)
	name := c.members[0].name(o, cogroup)
	parents, key := c.parts(name)
	if w.Engine().Kind == span.Sliding {
		return aggregateSliding[K, R, WK](c, w, init, name, o, key, parents)
	}
	return windowTable[K, R, WK](c.b, cogroup, name, o, key, nil, w, moreState{}, func(in *instance, sp *spans[K, R, WK]) any {
		a := &windower[K, step[R], R, WK]{spans: sp, fold: take[K, R], late: late[K, step[R]](in)}
		return c.receivers(init, a.receive)
	}, parents...)
}

// AggregateSession ends it per key and session.
func (c *Cogrouped[K, R]) AggregateSession[WK window.KeyOf[K]](w window.SessionSpec, init func() R, merge func(k K, a, b R) R, opts ...WindowOption) *Table[WK, R] {
	c.b.validate(w.Validate())
	o := windowOptions(opts)
	name := c.members[0].name(o, cogroup)
	parents, key := c.parts(name)
	return sessionTable[K, R, WK](c.b, cogroup, name, o, key, nil, w, merge, func(in *instance, vs *visits[K, R, WK]) any {
		a := &sessioner[K, step[R], R, WK]{visits: vs, fold: take[K, R], late: late[K, step[R]](in)}
		return c.receivers(init, a.receive)
	}, parents...)
}
