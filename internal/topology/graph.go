// Package topology is the untyped shape of a program: nodes and edges, how they fall into sub-topologies, what they are
// called, and how they print. It knows nothing of types, records or time; package stream attaches the typed parts to Node.Spec.
package topology

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind is what a node is, in the words users read: "source", "filter", "count".
type Kind string

// The kinds that the shape of a graph depends on. Everything else is an operator of some name.
const (
	Source      Kind = "source"      // reads a connector.Source
	Sink        Kind = "sink"        // writes a connector.Sink
	ExchangeOut Kind = "repartition" // the sending end of a repartition
	ExchangeIn  Kind = "from"        // its receiving end
)

// A Node is one operator.
type Node struct {
	ID      int
	Kind    Kind
	Name    string // unique; made by the builder or given by the user
	Detail  string // the topic of a source or sink, the window of an aggregate: printed behind the name
	Line    string // file:line of the call that made it
	Parents []Edge
	Stores  []string // state this node owns
	Peer    *Node    // the other end of an exchange
	Table   bool     // carries changes of rows, not records
	Spec    any      // the typed part

	children []Edge
	sub      *Sub
}

// An Edge leads from or to a port of a node. Ports are numbered from 0; most nodes have one.
type Edge struct {
	Node *Node
	Port int
}

// Children are the edges to the nodes that follow, in the order they were made.
func (n *Node) Children() []Edge { return n.children }

// Sub is the sub-topology of the node, after Split.
func (n *Node) Sub() *Sub { return n.sub }

// String is for messages: kind, name and line.
func (n *Node) String() string { return fmt.Sprintf("%s %q (%s)", n.Kind, n.Name, n.Line) }

// A Graph is a topology.
type Graph struct {
	App   string
	Nodes []*Node
	Subs  []*Sub // after Split
}

// Add makes a node behind its parents.
func (g *Graph) Add(n *Node) *Node {
	n.ID = len(g.Nodes)
	for _, p := range n.Parents {
		p.Node.children = append(p.Node.children, Edge{n, p.Port})
	}
	g.Nodes = append(g.Nodes, n)
	return n
}

// Has reports whether n is a node of the graph.
func (g *Graph) Has(n *Node) bool { return n.ID < len(g.Nodes) && g.Nodes[n.ID] == n }

// Link adds a parent to a node that exists.
func (g *Graph) Link(parent, child *Node, port int) {
	child.Parents = append(child.Parents, Edge{parent, port})
	parent.children = append(parent.children, Edge{child, port})
}

// A Sub is a sub-topology: a maximal part with no exchange in it. Its tasks are numbered by partition.
type Sub struct {
	Name  string // that of its first source or exchange, so that it survives changes elsewhere
	Nodes []*Node
}

// Ins are the nodes that bring records in.
func (s *Sub) Ins() []*Node {
	return slices.DeleteFunc(slices.Clone(s.Nodes), func(n *Node) bool { return n.Kind != Source && n.Kind != ExchangeIn })
}

// Split finds the sub-topologies. Nodes keep the order in which they were made, which is a topological one: a node is made
// behind its parents, and Link only ever adds a parent that is older or is an exchange.
func (g *Graph) Split() {
	root := make([]int, len(g.Nodes))
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, n := range g.Nodes {
		for _, p := range n.Parents {
			a, b := find(n.ID), find(p.Node.ID)
			root[max(a, b)] = min(a, b)
		}
	}
	g.Subs = nil
	subs := map[int]*Sub{}
	for _, n := range g.sorted() {
		r := find(n.ID)
		s := subs[r]
		if s == nil {
			s = &Sub{}
			subs[r] = s
			g.Subs = append(g.Subs, s)
		}
		if s.Name == "" && (n.Kind == Source || n.Kind == ExchangeIn) {
			s.Name = n.Name
		}
		s.Nodes = append(s.Nodes, n)
		n.sub = s
	}
}

// sorted lists the nodes with parents first. Ties keep the order in which they were made, so that names are stable.
func (g *Graph) sorted() []*Node {
	done := make([]bool, len(g.Nodes))
	var out []*Node
	var visit func(n *Node)
	visit = func(n *Node) {
		if done[n.ID] {
			return
		}
		done[n.ID] = true
		for _, p := range n.Parents {
			visit(p.Node)
		}
		out = append(out, n)
	}
	for _, n := range g.Nodes {
		visit(n)
	}
	return out
}

// Duplicates reports names that two nodes share, with both lines.
func (g *Graph) Duplicates() []error {
	var problems []error
	seen := map[string]*Node{}
	for _, n := range g.Nodes {
		if first := seen[n.Name]; first != nil {
			problems = append(problems, fmt.Errorf("%s: %s %q has the name of the %s at %s; give one of them another with Named",
				n.Line, n.Kind, n.Name, first.Kind, first.Line))
			continue
		}
		seen[n.Name] = n
	}
	return problems
}

// label is how a node prints: kind, name, detail and state.
func (n *Node) label() string {
	var b strings.Builder
	b.WriteString(string(n.Kind))
	if n.Name != "" {
		b.WriteString(" " + n.Name)
	}
	if n.Detail != "" && n.Detail != n.Name {
		b.WriteString(" (" + n.Detail + ")")
	}
	if len(n.Stores) > 0 {
		b.WriteString(" [" + strings.Join(n.Stores, ", ") + "]")
	}
	return b.String()
}
