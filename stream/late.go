package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
)

// A lateEnd ties the stream of a grouped stream's late records to the first aggregate made of it: that one judges what is late, by its
// own watermark and, for sessions, by its own state. Late may be called before there is one.
type lateEnd struct {
	node  *topology.Node // of Late; nil until it is called
	first *topology.Node // the first aggregate; nil until there is one
}

// stream makes the node of the late records, once.
func (l *lateEnd) add(b *Builder, line, what string, op *operator) *topology.Node {
	if l.node != nil {
		return l.node
	}
	op.outlet = true
	l.node = b.add("late", settings{line: line}, op)
	if l.first != nil {
		b.graph.Link(l.first, l.node, 0)
	}
	b.checks = append(b.checks, func() error {
		if l.first == nil {
			return fmt.Errorf("%s: %s.Late: nothing is aggregated, so nothing is late: call it on the handle that Count, Reduce or Aggregate is called on", line, what)
		}
		return nil
	})
	return l.node
}

// from says that an aggregate was made.
func (l *lateEnd) from(b *Builder, n *topology.Node) {
	if l.first != nil {
		return
	}
	l.first = n
	if l.node != nil {
		b.graph.Link(n, l.node, 0)
	}
}

// passLate is the operator of a node of late records.
func passLate[K, V any]() *operator {
	return &operator{make: func(in *instance) any { return outs[K, V](in) }}
}

// A lateness counts the late records of an operator and sends them on.
type lateness[K, V any] struct {
	count func(int64)
	next  recv[K, V] // nil: nobody wants them
}

// late is the lateness of the operator being made.
func late[K, V any](in *instance) lateness[K, V] {
	l := lateness[K, V]{count: in.env.Count("weir_late_total", "node", in.node.Name)}
	for _, e := range in.node.Children() {
		if specOf(e.Node).outlet {
			l.next = in.receiver(e).(recv[K, V])
		}
	}
	return l
}

func (l *lateness[K, V]) take(c *task.Context, k K, v V) {
	l.count(1)
	if l.next != nil {
		l.next(c, k, v)
	}
}
