package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
)

// Split sends each record to the first branch that takes it.
func (s *Stream[K, V]) Split[S SliceOf[V]]() *Branches[K, V] {
	b := &Branches[K, V]{from: s}
	op := &operator{make: b.make}
	b.node = s.b.add("split", settings{line: caller()}, op, at(s.node))
	return b
}

// Branches are the cases of a Split, tried in the order they were made. A record that none takes is dropped and counted,
// unless there is an Else.
type Branches[K, V any] struct {
	from  *Stream[K, V]
	node  *topology.Node
	names map[string]bool
	last  string // the Else
}

// A branch is the receiver of one case: it reports whether it took the record.
type branch[K, V any] func(c *task.Context, k K, v V) bool

// make tries the branches in order.
func (b *Branches[K, V]) make(in *instance) any {
	var tries []branch[K, V]
	for _, e := range in.node.Children() {
		tries = append(tries, in.receiver(e).(branch[K, V]))
	}
	dropped := in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no branch")
	return recv[K, V](func(c *task.Context, k K, v V) {
		for _, take := range tries {
			if take(c, k, v) {
				return
			}
		}
		dropped(1)
	})
}

// add makes the node of a case.
func (b *Branches[K, V]) add(kind, name string, op *operator) *topology.Node {
	o := settings{line: caller()}
	switch {
	case name == "":
		b.from.b.problem(o.line, fmt.Errorf("a branch needs a name"))
	case b.names[name]:
		b.from.b.problem(o.line, fmt.Errorf("branch %q is there twice", name))
	case b.last != "":
		b.from.b.problem(o.line, fmt.Errorf("branch %q comes behind Else(%q), which takes everything", name, b.last))
	}
	if b.names == nil {
		b.names = map[string]bool{}
	}
	b.names[name] = true
	o.name = b.node.Name + "-" + name
	n := b.from.b.add(topology.Kind(kind), o, op, at(b.node))
	n.Detail = name
	return n
}

// When takes the records for which f is true.
func (b *Branches[K, V]) When(name string, f func(k K, v V) bool) *Stream[K, V] {
	op := &operator{make: func(in *instance) any {
		next, self := outs[K, V](in), in.self()
		reject := in.rejection()
		return branch[K, V](func(c *task.Context, k K, v V) (took bool) {
			if !try(c, self, reject, func() { took = f(k, v) }) {
				return true
			}
			if took {
				next(c, k, v)
			}
			return took
		})
	}}
	s := *b.from
	s.node = b.add("when", name, op)
	return &s
}

// As takes the records that f converts.
func (b *Branches[K, V]) As[V2 any](name string, f func(v V) (V2, bool)) *Stream[K, V2] {
	op := &operator{make: func(in *instance) any {
		next, self := outs[K, V2](in), in.self()
		reject := in.rejection()
		return branch[K, V](func(c *task.Context, k K, v V) (took bool) {
			var v2 V2
			if !try(c, self, reject, func() { v2, took = f(v) }) {
				return true
			}
			if took {
				next(c, k, v2)
			}
			return took
		})
	}}
	return then[K, V, K, V2](b.from, b.add("as", name, op), b.from.rekeyed)
}

// OfType takes the records whose value, an interface, holds a V2: b.OfType[CardPaid]("cards").
func (b *Branches[K, V]) OfType[V2 any](name string) *Stream[K, V2] {
	op := &operator{make: func(in *instance) any {
		next := outs[K, V2](in)
		return branch[K, V](func(c *task.Context, k K, v V) bool {
			v2, ok := any(v).(V2)
			if ok {
				next(c, k, v2)
			}
			return ok
		})
	}}
	return then[K, V, K, V2](b.from, b.add("of-type", name, op), b.from.rekeyed)
}

// Else takes the rest.
func (b *Branches[K, V]) Else(name string) *Stream[K, V] {
	op := &operator{make: func(in *instance) any {
		next := outs[K, V](in)
		return branch[K, V](func(c *task.Context, k K, v V) bool {
			next(c, k, v)
			return true
		})
	}}
	s := *b.from
	s.node = b.add("else", name, op)
	b.last = name
	return &s
}
