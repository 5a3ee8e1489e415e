package span

// Panes cut overlapping windows into the pieces they share. With a mergeable aggregate an operator can write one pane per
// record instead of every window that the record is in, and merge PerWindow panes when a window closes.
//
// Per key and advance, with n records: windows cost n × Overlap updates; panes cost n updates, and at most PerWindow merges for each
// window that closes. See [Panes.Worthwhile].
type Panes struct {
	spec      *Spec
	Size      int64 // of a pane: the greatest common divisor of the windows' size and advance
	PerWindow int   // panes in a window
	Overlap   int   // windows that a pane is in, at most
}

// Panes describes the panes of an Aligned spec.
func (s *Spec) Panes() Panes {
	size := gcd(s.Size, s.Advance)
	return Panes{spec: s, Size: size, PerWindow: int(s.Size / size), Overlap: s.Overlap()}
}

// Worthwhile reports whether panes save work when a key that is written has about n records per advance. A key is there only
// because it has a record, so n is at least 1; with windows so finely cut that merging dominates, panes lose.
func (p Panes) Worthwhile(n float64) bool {
	return p.Overlap > 1 && n*float64(p.Overlap-1) > float64(p.PerWindow)
}

// Of is the pane of t.
func (p Panes) Of(t int64) Span {
	start := floor(clamp(t), p.Size, p.spec.Offset)
	return Span{start, start + p.Size}
}

// Windows returns the windows that a pane is part of, oldest first.
func (p Panes) Windows(pane Span) Run { return p.spec.Of(pane.Start) }

// Group is the first of the stretch of window ends that end is one of. A stretch has as many as a pane has windows. What is kept by the
// group of the window that closes next moves on once in the time of a window, and is looked at, while it waits for its first
// window, no more often than that.
func (p Panes) Group(end int64) int64 {
	return floor(end, int64(p.Overlap)*p.spec.Advance, p.spec.Offset+p.spec.Size)
}

// LastClosed is the end of the last window that is closed at the watermark.
func (p Panes) LastClosed(watermark int64) int64 {
	return floor(clamp(add(watermark, -p.spec.Grace)), p.spec.Advance, p.spec.Offset+p.spec.Size)
}

// First is the first pane of a window; the others follow at Size until its end.
func (p Panes) First(window Span) Span { return Span{window.Start, window.Start + p.Size} }

// Drop is the watermark at which a pane has served its last window.
func (p Panes) Drop(pane Span) int64 {
	r := p.Windows(pane)
	return p.spec.Close(r.At(r.N - 1))
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
