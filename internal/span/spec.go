package span

import (
	"fmt"
	"time"
)

// A Kind is how a Spec assigns spans.
type Kind uint8

// The kinds. None is the zero Spec, which nothing may be built with.
const (
	None Kind = iota
	Aligned
	Daily
	Unlimited
	Sliding
)

// A Spec is a window.Spec in milliseconds. It has been validated: Size ≥ 1, 1 ≤ Advance ≤ Size, Grace ≥ 0.
type Spec struct {
	Kind    Kind
	Size    int64          // of Aligned; the difference of Sliding
	Advance int64          // of Aligned
	Offset  int64          // of Aligned and Daily
	Origin  int64          // of Unlimited
	Grace   int64          // of all
	Zone    *time.Location // of Daily
}

// Normal brings the offset of a grid into [0, Advance): the same grid, and a sum that cannot wrap.
func (s Spec) Normal() Spec {
	if s.Kind == Aligned && s.Advance > 0 {
		s.Offset -= floor(s.Offset, s.Advance, 0)
	}
	return s
}

// A Run is the spans of one time, oldest first: each Step later than the one before it.
type Run struct {
	First Span
	Step  int64
	N     int
}

// At is span i of the run, 0 ≤ i < N.
func (r Run) At(i int) Span {
	d := r.Step * int64(i)
	return Span{r.First.Start + d, r.First.End + d}
}

// Of returns the spans of t, closed or not. It has none when t is before Origin, and for Sliding, whose spans depend on
// the other records: see [Slide].
func (s *Spec) Of(t int64) Run {
	t = clamp(t)
	switch s.Kind {
	case Aligned:
		return s.aligned(t)
	case Daily:
		return Run{First: s.day(t), N: 1}
	case Unlimited:
		if t >= s.Origin {
			return Run{First: Span{s.Origin, Never}, N: 1}
		}
	}
	return Run{}
}

// Open returns those spans of t that are open at the watermark. When there are none, the record is late.
func (s *Spec) Open(t, watermark int64) Run { return s.open(s.Of(t), watermark) }

// StillOpen returns those spans of a run that are open at the watermark.
func (s *Spec) StillOpen(r Run, watermark int64) Run { return s.open(r, watermark) }

func (s *Spec) open(r Run, watermark int64) Run {
	if r.N == 0 || !Closed(s.Close(r.First), watermark) {
		return r
	}
	if r.N == 1 {
		return Run{}
	}
	// watermark ≥ close of the first, both far from the ends of int64 but for a watermark of Never.
	closed := (watermark-s.Close(r.First))/r.Step + 1
	if closed < 0 || closed >= int64(r.N) {
		return Run{}
	}
	r.First, r.N = r.At(int(closed)), r.N-int(closed)
	return r
}

// Close is the watermark at which w closes: nothing that belongs to it is taken any more, and it is final.
func (s *Spec) Close(w Span) int64 { return add(w.End, s.Grace) }

// Overlap is how many spans one time has at most.
func (s *Spec) Overlap() int {
	if s.Kind != Aligned {
		return 1
	}
	return int((s.Size + s.Advance - 1) / s.Advance)
}

// aligned: the last span of t starts at or before t on the grid, the first is the earliest that still reaches beyond t.
func (s *Spec) aligned(t int64) Run {
	last := floor(t, s.Advance, s.Offset)
	if s.Advance == s.Size {
		return Run{First: Span{last, last + s.Size}, Step: s.Size, N: 1}
	}
	before := (s.Size - 1 - (t - last)) / s.Advance
	first := last - before*s.Advance
	return Run{First: Span{first, first + s.Size}, Step: s.Advance, N: int(before) + 1}
}

// An Assigner is a Spec with a memory of the last span it gave: records mostly come in the order of time, and
// looking a day up in its time zone costs twenty times what a comparison does. One task uses it.
type Assigner struct {
	spec Spec
	last Span // empty at first, and always where spans overlap
}

// NewAssigner returns one for a validated spec.
func NewAssigner(s Spec) *Assigner { return &Assigner{spec: s} }

// Spec is what the assigner was made with.
func (a *Assigner) Spec() *Spec { return &a.spec }

// Open is as for Spec.
func (a *Assigner) Open(t, watermark int64) Run {
	if a.last.Contains(t) {
		return a.spec.open(Run{First: a.last, N: 1}, watermark)
	}
	r := a.spec.Of(t)
	if r.N == 1 && a.spec.Overlap() == 1 {
		a.last = r.First
	}
	return a.spec.open(r, watermark)
}

// Ending is the span that ends at end, one that the spec has given.
func (s *Spec) Ending(end int64) Span {
	switch s.Kind {
	case Daily:
		return Span{s.day(end - 1).Start, end}
	case Unlimited:
		return Span{s.Origin, end}
	case Sliding:
		return Span{end - s.Size - 1, end}
	}
	return Span{end - s.Size, end}
}

// Shape names the spans that the spec makes: two specs of one shape differ at most in their grace.
func (s *Spec) Shape() string {
	switch s.Kind {
	case Daily:
		return fmt.Sprintf("daily(%s,%d)", s.Zone, s.Offset)
	case Unlimited:
		return fmt.Sprintf("unlimited(%d)", s.Origin)
	case Sliding:
		return fmt.Sprintf("sliding(%d)", s.Size)
	}
	return fmt.Sprintf("aligned(%d,%d,%d)", s.Size, s.Advance, s.Offset)
}
