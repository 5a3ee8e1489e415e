package topology

import (
	"fmt"
	"strings"
)

// String draws the graph as text: a block per sub-topology, a line per node, indented below its first parent.
func (g *Graph) String() string {
	g.Split()
	var b strings.Builder
	fmt.Fprintf(&b, "app %s\n", g.App)
	for i, s := range g.Subs {
		fmt.Fprintf(&b, "\n%d: %s\n", i+1, s.Name)
		done := map[*Node]bool{}
		for _, n := range s.Nodes {
			if len(n.Parents) == 0 {
				g.branch(&b, n, 1, done)
			}
		}
	}
	return b.String()
}

// branch prints a node and what follows it. One with several parents is printed once, with a reference from the others.
func (g *Graph) branch(b *strings.Builder, n *Node, depth int, done map[*Node]bool) {
	indent := strings.Repeat("  ", depth)
	if done[n] {
		fmt.Fprintf(b, "%s↑ %s\n", indent, n.Name)
		return
	}
	done[n] = true
	line := n.label()
	if n.Kind == ExchangeOut && n.Peer.sub != nil {
		line += fmt.Sprintf(" → %s", n.Peer.sub.Name)
	}
	fmt.Fprintf(b, "%s%s\n", indent, line)
	for _, c := range n.children {
		g.branch(b, c.Node, depth+1, done)
	}
}

// Mermaid draws the graph as a flowchart.
func (g *Graph) Mermaid() string {
	g.Split()
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, s := range g.Subs {
		fmt.Fprintf(&b, "  subgraph s%d[%s]\n", i+1, mermaidText(s.Name))
		for _, n := range s.Nodes {
			fmt.Fprintf(&b, "    n%d%s\n", n.ID, mermaidShape(n))
		}
		b.WriteString("  end\n")
	}
	g.edges(func(from, to *Node, across bool) {
		arrow := "-->"
		if across {
			arrow = "==>"
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", from.ID, arrow, to.ID)
	})
	return b.String()
}

func mermaidShape(n *Node) string {
	text := mermaidText(n.label())
	switch {
	case n.Kind == Source || n.Kind == Sink:
		return "([" + text + "])"
	case n.Kind == ExchangeOut || n.Kind == ExchangeIn:
		return "[/" + text + "/]"
	case len(n.Stores) > 0:
		return "[(" + text + ")]"
	}
	return "[" + text + "]"
}

// mermaidText quotes a label; a quote inside is written as an entity.
func mermaidText(s string) string { return `"` + strings.ReplaceAll(s, `"`, "#quot;") + `"` }

// DOT draws the graph for Graphviz.
func (g *Graph) DOT() string {
	g.Split()
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n  node [shape=box, fontname=\"sans-serif\"];\n", g.App)
	for i, s := range g.Subs {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%q;\n", i+1, s.Name)
		for _, n := range s.Nodes {
			fmt.Fprintf(&b, "    n%d [label=%q%s];\n", n.ID, n.label(), dotShape(n))
		}
		b.WriteString("  }\n")
	}
	g.edges(func(from, to *Node, across bool) {
		style := ""
		if across {
			style = " [style=bold]"
		}
		fmt.Fprintf(&b, "  n%d -> n%d%s;\n", from.ID, to.ID, style)
	})
	b.WriteString("}\n")
	return b.String()
}

func dotShape(n *Node) string {
	switch {
	case n.Kind == Source || n.Kind == Sink:
		return ", shape=ellipse"
	case n.Kind == ExchangeOut || n.Kind == ExchangeIn:
		return ", shape=parallelogram"
	case len(n.Stores) > 0:
		return ", shape=cylinder"
	}
	return ""
}

// edges calls f for each edge in the order of its nodes; across is an exchange.
func (g *Graph) edges(f func(from, to *Node, across bool)) {
	for _, n := range g.Nodes {
		for _, c := range n.children {
			f(n, c.Node, false)
		}
		if n.Kind == ExchangeOut {
			f(n, n.Peer, true)
		}
	}
}
