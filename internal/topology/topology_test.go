package topology

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is printed now")

func at(n *Node) Edge { return Edge{Node: n} }

// wordcount is a graph with a repartition in it.
func wordcount() *Graph {
	g := &Graph{App: "wordcount"}
	lines := g.Add(&Node{Kind: Source, Name: "lines", Detail: "lines"})
	words := g.Add(&Node{Kind: "flat-map-values", Name: "flat-map-values-1", Parents: []Edge{at(lines)}})
	key := g.Add(&Node{Kind: "select-key", Name: "select-key-1", Parents: []Edge{at(words)}})
	exchange(g, key, "lines-count-repartition", func(in *Node) {
		count := g.Add(&Node{Kind: "count", Name: "lines-count", Stores: []string{"lines-count"}, Table: true, Parents: []Edge{at(in)}})
		g.Add(&Node{Kind: Sink, Name: "to-counts", Detail: "counts", Parents: []Edge{at(count)}})
	})
	return g
}

// exchange adds a repartition behind a node.
func exchange(g *Graph, from *Node, name string, then func(in *Node)) {
	out := g.Add(&Node{Kind: ExchangeOut, Name: name + "-out", Detail: name, Parents: []Edge{at(from)}})
	in := g.Add(&Node{Kind: ExchangeIn, Name: name})
	out.Peer, in.Peer = in, out
	then(in)
}

// diamond has branches that meet again, quotes in a name, and a part of its own.
func diamond() *Graph {
	g := &Graph{App: "diamond"}
	a := g.Add(&Node{Kind: Source, Name: "a", Detail: `say "a"`})
	b := g.Add(&Node{Kind: Source, Name: "b"})
	left := g.Add(&Node{Kind: "filter", Name: "filter-1", Parents: []Edge{at(a)}})
	right := g.Add(&Node{Kind: "map", Name: "map-1", Parents: []Edge{at(a)}})
	all := g.Add(&Node{Kind: "merge", Name: "merge-1", Parents: []Edge{at(left), at(right), at(b)}})
	g.Add(&Node{Kind: "for-each", Name: "for-each-1", Parents: []Edge{at(all)}})
	alone := g.Add(&Node{Kind: Source, Name: "alone"})
	g.Add(&Node{Kind: Sink, Name: "to-alone", Parents: []Edge{at(alone)}})
	return g
}

func TestPrinting(t *testing.T) {
	for name, g := range map[string]*Graph{"wordcount": wordcount(), "diamond": diamond()} {
		for ext, got := range map[string]string{"txt": g.String(), "mmd": g.Mermaid(), "dot": g.DOT()} {
			golden(t, filepath.Join("testdata", name+"."+ext), got)
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is (go test -update writes it)\n%s\nwant\n%s", file, got, want)
	}
}

func TestSplit(t *testing.T) {
	g := diamond()
	g.Split()
	var subs []string
	for _, s := range g.Subs {
		var nodes []string
		for _, n := range s.Nodes {
			if n.Sub() != s {
				t.Errorf("%s is not told its part", n)
			}
			nodes = append(nodes, n.Name)
		}
		subs = append(subs, s.Name+": "+strings.Join(nodes, " "))
	}
	want := "a: a b filter-1 map-1 merge-1 for-each-1\nalone: alone to-alone"
	if got := strings.Join(subs, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if ins := g.Subs[0].Ins(); len(ins) != 2 || ins[0].Name != "a" || ins[1].Name != "b" {
		t.Errorf("inputs %v", ins)
	}
}

// A repartition to a part upstream of itself makes one part of it: a loop through a topic is no reason to split.
func TestSplitOfALink(t *testing.T) {
	g := &Graph{App: "link"}
	a := g.Add(&Node{Kind: Source, Name: "a"})
	b := g.Add(&Node{Kind: Source, Name: "b"})
	join := g.Add(&Node{Kind: "join", Name: "join", Parents: []Edge{at(a)}, Stores: []string{"left", "right"}})
	g.Link(b, join, 1)
	g.Split()
	if len(g.Subs) != 1 {
		t.Errorf("got %d parts", len(g.Subs))
	}
	if last := b.Children(); len(last) != 1 || last[0].Port != 1 {
		t.Errorf("b leads to %v", last)
	}
}

func TestDuplicatesNameBothLines(t *testing.T) {
	g := &Graph{App: "twice"}
	g.Add(&Node{Kind: Source, Name: "a", Line: "main.go:1"})
	g.Add(&Node{Kind: "count", Name: "a", Line: "main.go:2"})
	problems := g.Duplicates()
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), `main.go:2: count "a" has the name of the source at main.go:1`) {
		t.Errorf("got %v", problems)
	}
}
