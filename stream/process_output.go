package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/task"
)

// An Output names a further output of a Process and carries its types. One processor writes it.
type Output[K, V any] struct{ name string }

// NewOutput makes one.
func NewOutput[K, V any](name string) *Output[K, V] { return &Output[K, V]{name} }

// Output is the stream of a further output of the Process that made s.
func (s *Stream[K, V]) Output[OK, OV any](o *Output[OK, OV]) *Stream[OK, OV] {
	set := settings{line: caller(), name: s.node.Name + "-" + o.name}
	if s.node.Kind != "process" {
		s.b.problem(set.line, fmt.Errorf("output %q: %s is not a Process", o.name, s.node))
	}
	op := &operator{output: o, make: func(in *instance) any { return outs[OK, OV](in) }}
	n := s.b.add("output", set, op, at(s.node))
	n.Detail = o.name
	return &Stream[OK, OV]{b: s.b, node: n, rekeyed: true}
}

// Output declares a further output.
func (p *Processor[K, K2, V2]) Output[OK, OV any](o *Output[OK, OV]) *Outlet[OK, OV] {
	if p.declared != nil {
		return nil
	}
	var rs []recv[OK, OV]
	for _, e := range p.in.node.Children() {
		if specOf(e.Node).output == any(o) {
			rs = append(rs, p.in.receiver(e).(recv[OK, OV]))
		}
	}
	return &Outlet[OK, OV]{run: p.run, next: func(c *task.Context, k OK, v OV) {
		for _, r := range rs {
			r(c, k, v)
		}
	}}
}

// An Outlet is an Output in use.
type Outlet[K, V any] struct {
	run  *processing
	next recv[K, V]
}

// Emit is described at Processor.
func (o *Outlet[K, V]) Emit(k K, v V) {
	keyed(o.run.c, o.next, k, v)
	o.run.c.Fault = o.run.node
}

// Forward is described at Processor.
func (o *Outlet[K, V]) Forward(r Record[K, V]) {
	forward(o.run.c, o.next, &r)
	o.run.c.Fault = o.run.node
}
