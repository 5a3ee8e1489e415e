package span

// A Slide is a sliding window in milliseconds. Its spans depend on the records of a key: moved along the axis of time, a window
// of Difference + 1 ms holds another set of records whenever it has just taken one in or just let one go. So each
// record at t defines two spans: Before, that ends with it, and After, that begins just behind it and exists only
// where it is not empty. Two records may define the same span; it is one.
//
// An operator keeps the records of a key by time. A span's result is a fold over the records in it when it closes: what
// came while the span was open, as the closing rule has it. Incremental upkeep would write as many aggregates as there are records in
// reach, for each record.
type Slide struct{ Difference, Grace int64 }

// Slide is the spec as a Slide.
func (s *Spec) Slide() Slide { return Slide{s.Size, s.Grace} }

// Before is the span of the records from t - Difference to t.
func (s Slide) Before(t int64) Span {
	t = clamp(t)
	return Span{t - s.Difference, t + 1}
}

// After is the span that begins just behind t.
func (s Slide) After(t int64) Span {
	t = clamp(t)
	return Span{t + 1, t + s.Difference + 2}
}

// Close is the watermark at which w closes.
func (s Slide) Close(w Span) int64 { return add(w.End, s.Grace) }

// Late reports whether a record at t is late for every span that could have it: the last is the one that begins with it.
func (s Slide) Late(t, watermark int64) bool {
	t = clamp(t)
	return Closed(s.Close(Span{t, t + s.Difference + 1}), watermark)
}

// Drop is the watermark at which a record at t is in no open span and begins none.
func (s Slide) Drop(t int64) int64 { return s.Close(s.After(t)) }

// Touched is the range of times of a key's records whose spans change or appear with a record at t: those of
// Before and After that contain t belong to records in it.
func (s Slide) Touched(t int64) Span {
	t = clamp(t)
	return Span{t - s.Difference - 1, t + s.Difference + 1}
}
