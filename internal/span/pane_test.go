package span

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPanes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 5000 {
		size := 1 + r.Int64N(60)
		s := Spec{Kind: Aligned, Size: size, Advance: 1 + r.Int64N(size), Offset: r.Int64N(99) - 50, Grace: r.Int64N(9)}.Normal()
		p := s.Panes()
		at := r.Int64N(400) - 200
		pane := p.Of(at)
		if !pane.Contains(at) || pane.End-pane.Start != p.Size {
			t.Fatalf("%+v: pane of %d is %v", s, at, pane)
		}
		// Every time of a pane is in the same windows, so a pane stands for its records.
		windows := spans(p.Windows(pane))
		for in := pane.Start; in < pane.End; in++ {
			if got := naive(s, in); !slices.Equal(got, windows) {
				t.Fatalf("%+v: %d in pane %v is in %v, the pane in %v", s, in, pane, got, windows)
			}
		}
		var last int64
		for _, w := range windows {
			n := 0
			for q := p.First(w); q.End <= w.End; q = (Span{q.Start + p.Size, q.End + p.Size}) {
				if n++; p.Of(q.Start) != q {
					t.Fatalf("%+v: window %v has %v, which is no pane", s, w, q)
				}
			}
			if n != p.PerWindow {
				t.Fatalf("%+v: window %v has %d panes, want %d", s, w, n, p.PerWindow)
			}
			last = s.Close(w)
		}
		length := int64(p.Overlap) * s.Advance
		for _, w := range windows {
			if g := p.Group(w.End); g > w.End || w.End-g >= length || p.Group(g) != g || p.Group(g+length) != g+length {
				t.Fatalf("%+v: the window ending at %d is in group %d", s, w.End, g)
			}
			if c := s.Close(w); p.LastClosed(c) != w.End || p.LastClosed(c-1) != w.End-s.Advance {
				t.Fatalf("%+v: at %d the last closed is %d", s, c, p.LastClosed(c))
			}
		}
		if p.Drop(pane) != last {
			t.Fatalf("%+v: pane %v drops at %d, its last window closes at %d", s, pane, p.Drop(pane), last)
		}
	}
}

func TestPanesWorthwhile(t *testing.T) {
	for _, c := range []struct {
		size, advance int64
		n             float64
		want          bool
	}{
		{10, 10, 100, false}, // tumbling: nothing to share
		{10, 2, 1, false},    // 4 updates saved, 5 merges spent
		{10, 2, 2, true},
		{10_000, 3_333, 100, false}, // panes of 1 ms
		{3_600_000, 60_000, 10, true},
	} {
		s := Spec{Kind: Aligned, Size: c.size, Advance: c.advance}
		if got := s.Panes().Worthwhile(c.n); got != c.want {
			t.Errorf("size %d, advance %d, %v records per advance: %v, want %v", c.size, c.advance, c.n, got, c.want)
		}
	}
}
