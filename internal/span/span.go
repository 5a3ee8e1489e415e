// Package span is event-time arithmetic on int64 milliseconds: what package window describes, as operators compute it.
//
// Everything here is pure, allocates nothing and cannot overflow. Times beyond ±[Limit] are absurd: sources reject them
// ([Valid]), and where one arrives all the same it is taken for the limit. A watermark may be any int64: [Never] is
// that of an input that has ended, and reaches every close, that of an unlimited window included.
package span

import "math"

const (
	// Limit bounds event times on both sides: 146 million years, far enough from the ends of int64 that adding
	// a size, a grace and a gap cannot wrap.
	Limit int64 = 1 << 62
	// Never is the end of a span that has none, and the watermark of an input that has ended.
	Never int64 = math.MaxInt64
	// Ever is the watermark of an input of which nothing is known yet.
	Ever int64 = math.MinInt64
)

// A Span is [Start, End).
type Span struct{ Start, End int64 }

// Instant is the span of one record at t, [t, t+1).
func Instant(t int64) Span { return Span{t, add(t, 1)} }

// Contains reports whether t is in s.
func (s Span) Contains(t int64) bool { return s.Start <= t && t < s.End }

// Last is the last millisecond of s: the time of what a window emits on close. An endless span has Limit.
func (s Span) Last() int64 { return min(s.End-1, Limit) }

// Valid reports whether t is a time that windows can be made of.
func Valid(t int64) bool { return -Limit <= t && t <= Limit }

// Closed is the closing rule of the whole engine, for whatever closes at close.
func Closed(close, watermark int64) bool { return close <= watermark }

// Add adds milliseconds and stays at Never or Ever rather than wrap.
func Add(t, d int64) int64 { return add(t, d) }

func add(t, d int64) int64 {
	s := t + d
	switch {
	case d > 0 && s < t:
		return Never
	case d < 0 && s > t:
		return Ever
	}
	return s
}

// clamp brings an absurd time to the limit.
func clamp(t int64) int64 { return max(-Limit, min(t, Limit)) }

// floor is the greatest a + n*step that is at most t, before the epoch as after it.
func floor(t, step, a int64) int64 {
	m := (t - a) % step
	if m < 0 {
		m += step
	}
	return t - m
}
