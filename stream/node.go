package stream

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// recv is the typed end of an operator: the call chain of a task is made of these, with nothing between them. Changes of tables
// travel as recv[K, table.Change[V]].
type recv[K, V any] = func(c *task.Context, k K, v V)

// An operator is the typed part of a node: topology.Node.Spec.
type operator struct {
	opts settings
	// bind checks and binds what depends on the configuration, at Build. Its result is given to make by instance.bound.
	bind func(at *binding) (any, error)
	// make returns the node's receiver in one task: a recv, or for several ports a []any of them. A source's is nil: it
	// adds an input to the task.
	make     func(in *instance) any
	needsOld bool // it looks at the old values of changes
	looksUp  bool // it reads rows of the tables in front of it, see lookedUp
	keepsOld bool // it looks at those of its own rows
	byTime   bool // its rows begin with a time, and are read by it
	reserde  func(key, value any)
	restored func(bound any) rowsOfBatch // of a table whose topic is its changelog
	keepsKey bool                        // what it emits for a record, it emits at once, under the record's key and time
	outlet   bool                        // it has what its parent says aside, not what its parent emits: late records
	patience int64                       // how far behind event time a record may be and make no difference to the node, in ms; see patience
	headers  bool                        // it looks at headers, or passes them to the outside
	numbered bool                        // its name was made up, see Builder.rename
	// what only some nodes are
	output   any // of a further output of a Process
	source   *sourceSpec
	sink     *sinkSpec
	exchange *exchangeSpec
	stores   []storeSpec
}

// spec is the operator of a node.
func specOf(n *topology.Node) *operator { return n.Spec.(*operator) }

// add puts a node into the graph. A stateless node without a name is numbered by kind: its name is for people only.
func (b *Builder) add(kind topology.Kind, o settings, op *operator, parents ...topology.Edge) *topology.Node {
	op.opts, op.numbered = o, o.name == ""
	name := o.name
	if op.numbered {
		name = b.number(kind)
	}
	parents = slices.DeleteFunc(parents, func(p topology.Edge) bool {
		if b.graph.Has(p.Node) {
			return false
		}
		b.problem(o.line, fmt.Errorf("%s %s: %s was made by another Builder: a topology is built by one", kind, name, p.Node))
		return true
	})
	return b.graph.Add(&topology.Node{Kind: kind, Name: name, Line: o.line, Parents: parents, Spec: op})
}

// number makes a name up.
func (b *Builder) number(kind topology.Kind) string {
	b.counts[string(kind)]++
	return fmt.Sprintf("%s-%d", kind, b.counts[string(kind)])
}

// rename gives numbered nodes other numbers where a topic, or a user, has named another node so: before or after.
func (b *Builder) rename() {
	taken := map[string]int{}
	for _, n := range b.graph.Nodes {
		taken[n.Name]++
	}
	for _, n := range b.graph.Nodes {
		for specOf(n).numbered && taken[n.Name] > 1 {
			taken[n.Name]--
			n.Name = b.number(n.Kind)
			taken[n.Name]++
		}
	}
}

// caller is the line outside of this package that called into it. It gives each link of a chain over several lines its own
// line; behind a user's wrapper it is the wrapper's.
func caller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, thisPackage) {
			return fmt.Sprintf("%s:%d", shortFile(f.File), f.Line)
		}
		if !more {
			return "?"
		}
	}
}

const thisPackage = "github.com/weirstream/weir/stream."

// shortFile is the last two elements of a path: enough to find the file, the same on every machine.
func shortFile(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// base is the name that stateful operators behind n are called after: that of the nearest source, exchange or stateful
// operator upstream. Stateless operators do not count, so that adding one loses no state.
func base(n *topology.Node) string {
	for n.Kind != topology.Source && n.Kind != topology.ExchangeIn && len(n.Stores) == 0 && len(n.Parents) > 0 {
		n = n.Parents[0].Node
	}
	return n.Name
}

// at is the edge that leaves a node by its first port.
func at(n *topology.Node) topology.Edge { return topology.Edge{Node: n} }

// keep returns s as a serde of T, when it is one: a type that comes back later in the chain keeps its serde.
func keep[T any](serdes ...any) serde.Serde[T] {
	for _, s := range serdes {
		if s, ok := s.(serde.Serde[T]); ok && s != nil {
			return s
		}
	}
	return nil
}

// orFor is s, or what For picks.
func orFor[T any](s serde.Serde[T]) serde.Serde[T] {
	if s == nil {
		return serde.For[T]()
	}
	return s
}
