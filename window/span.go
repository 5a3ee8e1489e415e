package window

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/internal/span"
)

// A Span is a half-open interval of event time, [Start, End), in whole milliseconds.
// It is two integers: comparable, fit for map keys, and equal however it was made.
// A session of one record at t is [t, t+1ms); Kafka Streams would print [t, t].
type Span struct{ start, end int64 }

// NewSpan returns [start, end), both cut to milliseconds. With end before start it is empty, [start, start).
func NewSpan(start, end time.Time) Span {
	s, e := start.UnixMilli(), end.UnixMilli()
	return Span{s, max(s, e)}
}

// Start is the first instant in the span, in UTC.
func (s Span) Start() time.Time { return time.UnixMilli(s.start).UTC() }

// End is the first instant after the span, in UTC. That of an [Unlimited] window lies 292 million years ahead.
func (s Span) End() time.Time { return time.UnixMilli(s.end).UTC() }

// Duration is End minus Start, at most the longest Duration, some 292 years.
func (s Span) Duration() time.Duration { return s.End().Sub(s.Start()) }

// Contains reports whether t is in the span.
func (s Span) Contains(t time.Time) bool { return s.start <= t.UnixMilli() && t.UnixMilli() < s.end }

// Compare orders spans by start, then by end: it fits slices.SortFunc.
func (s Span) Compare(o Span) int {
	switch {
	case s.start != o.start:
		return sign(s.start < o.start)
	case s.end != o.end:
		return sign(s.end < o.end)
	}
	return 0
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

// String formats the span as Start/End in RFC 3339, in UTC. The end of an Unlimited window is "..", and a time outside the years
// 0 to 9999, for which RFC 3339 has no form, is "@" and its milliseconds since 1970.
func (s Span) String() string {
	b, _ := s.AppendText(make([]byte, 0, 2*len(layout)+1))
	return string(b)
}

// AppendText appends the form of String; MarshalText and UnmarshalText use it too.
func (s Span) AppendText(b []byte) ([]byte, error) {
	b = append(appendTime(b, s.start), '/')
	if s.end == span.Never {
		return append(b, ".."...), nil
	}
	return appendTime(b, s.end), nil
}

// MarshalText implements encoding.TextMarshaler.
func (s Span) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// UnmarshalText implements encoding.TextUnmarshaler. Times may be in any zone, and are cut to milliseconds.
func (s *Span) UnmarshalText(text []byte) error {
	from, until, ok := strings.Cut(string(text), "/")
	if !ok {
		return fmt.Errorf("window: span %.80q has no '/' between start and end", text)
	}
	start, err := parseTime(from)
	if err != nil {
		return fmt.Errorf("window: start of span %.80q: %w", text, err)
	}
	end := span.Never
	if until != ".." {
		if end, err = parseTime(until); err != nil {
			return fmt.Errorf("window: end of span %.80q: %w", text, err)
		}
	}
	if end < start {
		return fmt.Errorf("window: span %.80q ends before it starts", text)
	}
	*s = Span{start, end}
	return nil
}

// layout is RFC 3339 with as many digits of the milliseconds as matter.
const layout = "2006-01-02T15:04:05.999Z07:00"

var errTime = errors.New("want RFC 3339, or @ and milliseconds")

func appendTime(b []byte, ms int64) []byte {
	t := time.UnixMilli(ms).UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return strconv.AppendInt(append(b, '@'), ms, 10)
	}
	return t.AppendFormat(b, layout)
}

func parseTime(s string) (int64, error) {
	if digits, ok := strings.CutPrefix(s, "@"); ok {
		ms, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, errTime
		}
		return ms, nil
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return 0, errTime
	}
	return t.UnixMilli(), nil
}

// SpanMillis returns [start, end), given in milliseconds since the Unix epoch. For the engine and serdes.
func SpanMillis(start, end int64) Span { return Span{start, end} }

// Millis returns both ends in milliseconds since the Unix epoch. For the engine and serdes.
func (s Span) Millis() (start, end int64) { return s.start, s.end }

// A Key is a key and the window it was aggregated in. Span is a field, not embedded:
// an embedded Span would lend Key its String and MarshalText and lose the key in both.
type Key[K any] struct {
	Key  K
	Span Span
}

// String formats the key as Key@Span.
func (k Key[K]) String() string { return fmt.Sprintf("%v@%v", k.Key, k.Span) }

// KeyOf is satisfied by exactly one type, Key[K]. Nobody writes it: it is inferred. It exists because
// a method of Windowed[K] that plainly returned a Table[Key[K]] would be an instantiation cycle.
type KeyOf[K any] interface{ Key[K] }
