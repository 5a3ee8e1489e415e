package stream

import (
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
)

// A guard calls the functions of an operator on tables. A row that one of them rejects is not there for what follows: its version before
// is taken back, and the rejected one neither counts nor is it taken back later. So what a table has does not depend on the order in which
// rows came (docs/adr/0070).
type guard struct {
	node    *task.Node
	reject  rejection
	quiet   rejection
	guarded bool
}

// guard makes the one of the node being made.
func (in *instance) guard() *guard {
	g := &guard{node: in.self(), reject: in.rejection(), guarded: !in.failing()}
	g.quiet = outagesOnly(g.reject)
	return g
}

// outagesOnly rejects nothing; in an outage it waits as reject does.
func outagesOnly(reject rejection) rejection {
	return func(c *task.Context, err error, stack []byte) {
		if isOutage(err) {
			reject(c, err, stack)
		}
	}
}

// new calls a function for what a row is now, and reports whether it took the row.
func (g *guard) new(c *task.Context, f func()) bool { return g.call(c, g.reject, f) }

// old calls a function for what a row was. One that it does not take was rejected when it was new.
func (g *guard) old(c *task.Context, f func()) bool { return g.call(c, g.quiet, f) }

func (g *guard) call(c *task.Context, reject rejection, f func()) bool {
	if g.guarded {
		return try(c, g.node, reject, f)
	}
	c.Fault = g.node
	f()
	return true
}

// A looker calls the functions of a table's operator while somebody else looks a row up.
type looker struct {
	g *guard // nil: for queries, which are told the error
	c *task.Context
}

// looking makes the one for table operator n.
func (in *instance) looking(n *topology.Node) looker {
	if in.node == nil || in.reading {
		return looker{}
	}
	return looker{c: &in.task.Context, g: &guard{node: in.nodes[n], guarded: !in.failingAt(n), quiet: outagesOnly(func(c *task.Context, err error, _ []byte) {
		panic(waitFor(c, &Error{Node: n.Name, Task: in.task.ID(), Origin: c.Origin, Err: err}))
	})}}
}

// row reports whether f took the row. One that it rejects was rejected when it changed: there is none.
func (l looker) row(f func()) bool {
	if l.g == nil {
		f()
		return true
	}
	before := l.c.Fault
	ok := l.g.old(l.c, f)
	l.c.Fault = before
	return ok
}
