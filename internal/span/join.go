package span

// A Side is one input of a join of streams.
type Side uint8

// The sides.
const (
	Left Side = iota
	Right
)

// Other is the opposite side.
func (s Side) Other() Side { return s ^ 1 }

// A Join is a window.JoinSpec in milliseconds: a left record at t matches right ones in [t-Before, t+After], both ends
// included.
//
// Three times follow, and belong together. A record is late when its own millisecond is past by more than
// Grace. So one of the other side can be matched until Close; only then is it certain that it has no match; and
// nothing needs it any longer.
type Join struct{ Before, After, Grace int64 }

// Matches is the half-open span of times on the other side that a record at t of this side matches.
func (j Join) Matches(side Side, t int64) Span {
	before, after := j.reach(side)
	t = clamp(t)
	return Span{t - before, t + after + 1}
}

// Late reports whether a record at t comes too late to be taken, on either side.
func (j Join) Late(t, watermark int64) bool {
	return Closed(add(Instant(clamp(t)).End, j.Grace), watermark)
}

// Close is the watermark at which a record at t can have no further match: unmatched, it is emitted; in any case it is dropped.
// A window that lies wholly before its record may have closed when the record comes: match it, and then this applies at once.
func (j Join) Close(side Side, t int64) int64 { return add(j.Matches(side, t).End, j.Grace) }

func (j Join) reach(side Side) (before, after int64) {
	if side == Left {
		return j.Before, j.After
	}
	return j.After, j.Before
}
