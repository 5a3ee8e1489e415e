package span

// Sessions is a window.SessionSpec in milliseconds.
type Sessions struct{ Gap, Grace int64 }

// A Session is a span from its first record to just after its last, and how far it reaches: a record up to Reach,
// included, belongs to it. With one gap for all records Reach is End - 1 + gap; with a gap per record, the greatest of
// time + gap.
type Session struct{ Start, End, Reach int64 }

// Of is the session of a lone record with its gap. A negative gap counts as none.
func (s Sessions) Of(t, gap int64) Session {
	t = clamp(t)
	return Session{t, t + 1, add(t, max(gap, 0))}
}

// From is the session that a stored span had, where all records have the same gap.
func (s Sessions) From(w Span) Session { return Session{w.Start, w.End, add(w.End-1, s.Gap)} }

// Close is the watermark at which x closes: End + gap + grace, the gap being that of the record that reaches furthest.
func (s Sessions) Close(x Session) int64 { return add(add(x.Reach, 1), s.Grace) }

// Late reports whether the record that would make the lone or merged session x comes too late. The operator merges with
// sessions that are open; one that has closed is final, and a record near it starts a session of its own.
func (s Sessions) Late(x Session, watermark int64) bool { return Closed(s.Close(x), watermark) }

// Span is what a result is keyed by.
func (x Session) Span() Span { return Span{x.Start, x.End} }

// Touches reports whether two sessions are one. Exactly a gap apart they are.
func (x Session) Touches(y Session) bool { return x.Start <= y.Reach && y.Start <= x.Reach }

// Merge is the session of both. Sessions of a key that do not touch are in one order by Start, End and Reach, so those
// that a record touches lie side by side: merging them in that order is enough, in one pass.
func (x Session) Merge(y Session) Session {
	return Session{min(x.Start, y.Start), max(x.End, y.End), max(x.Reach, y.Reach)}
}
