package serde

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/weirstream/weir/window"
)

// Windowed encodes the key, then the span. It is ordered when k is: by key, then start, then end, so the windows of
// one key lie side by side.
//
// The span is the last 16 bytes, start and end as [Time] writes them. The key before it is what k makes of it; if k is ordered and its
// encodings have no fixed length, zero bytes in it are written as 00 FF and 00 01 ends it,
// since a plain "ab" and the span behind a plain "a" would not sort as the keys do.
func Windowed[K any](k Serde[K]) Serde[window.Key[K]] {
	w := windowed[K]{k}
	_, ordered := k.(Ordered)
	_, fixed := k.(fixedSize)
	switch {
	case ordered && fixed:
		return fixedWindowed[K]{orderedWindowed[K]{w}}
	case ordered:
		return escapedWindowed[K]{w}
	}
	return w
}

// fixedSize is implemented by serdes whose encodings all have one length.
type fixedSize interface{ size() int }

// spanSize is the length of an encoded span.
const spanSize = 16

// windowed is the plain form, key and span.
type windowed[K any] struct{ key Serde[K] }

func (w windowed[K]) Append(dst []byte, v window.Key[K]) ([]byte, error) {
	out, err := w.key.Append(dst, v.Key)
	if err != nil {
		return dst, err
	}
	return appendSpan(out, v.Span), nil
}

func (w windowed[K]) Decode(b []byte) (window.Key[K], error) {
	key, span, err := cutSpan(b)
	if err != nil {
		return window.Key[K]{}, err
	}
	k, err := w.key.Decode(key)
	if err != nil {
		return window.Key[K]{}, err
	}
	return window.Key[K]{Key: k, Span: span}, nil
}

func (w windowed[K]) Format() string { return "windowed " + w.key.Format() }
func (w windowed[K]) Problem() error { return Problem(w.key) }

func (w windowed[K]) Bind(at Binding) (Serde[window.Key[K]], error) {
	k, err := Bind(w.key, at)
	if err != nil {
		return nil, err
	}
	return Windowed(k), nil
}

// orderedWindowed and fixedWindowed are the plain form over a key whose order it keeps.
type orderedWindowed[K any] struct{ windowed[K] }

func (orderedWindowed[K]) OrderedBytes() {}

type fixedWindowed[K any] struct{ orderedWindowed[K] }

func (w fixedWindowed[K]) size() int { return w.key.(fixedSize).size() + spanSize }

// escapedWindowed ends the key with a mark that sorts before every byte the key could go on with.
type escapedWindowed[K any] struct{ windowed[K] }

func (escapedWindowed[K]) OrderedBytes() {}

func (w escapedWindowed[K]) Append(dst []byte, v window.Key[K]) ([]byte, error) {
	out, err := w.key.Append(dst, v.Key)
	if err != nil {
		return dst, err
	}
	return appendSpan(append(escapeZeros(out, len(dst)), 0, 1), v.Span), nil
}

func (w escapedWindowed[K]) Decode(b []byte) (window.Key[K], error) {
	key, span, err := cutSpan(b)
	if err != nil {
		return window.Key[K]{}, err
	}
	if key, err = unescapeZeros(key); err != nil {
		return window.Key[K]{}, err
	}
	k, err := w.key.Decode(key)
	if err != nil {
		return window.Key[K]{}, err
	}
	return window.Key[K]{Key: k, Span: span}, nil
}

// escapeZeros writes 00 FF for each zero byte of b[from:], which is moved to make room. Most keys have none.
func escapeZeros(b []byte, from int) []byte {
	zeros := bytes.Count(b[from:], []byte{0})
	if zeros == 0 {
		return b
	}
	read, write := len(b), len(b)+zeros
	for range zeros {
		b = append(b, 0)
	}
	for zeros > 0 {
		read--
		if b[read] == 0 {
			write--
			b[write] = 0xff
			zeros--
		}
		write--
		b[write] = b[read]
	}
	return b
}

var errKeyEnd = errors.New("serde: windowed key does not end with 00 01, or has a zero byte that is not escaped")

// unescapeZeros undoes escapeZeros and takes the end mark off. It copies only what has escapes.
func unescapeZeros(b []byte) ([]byte, error) {
	n := len(b) - 2
	if n < 0 || b[n] != 0 || b[n+1] != 1 {
		return nil, errKeyEnd
	}
	b = b[:n]
	zero := bytes.IndexByte(b, 0)
	if zero < 0 {
		return b, nil
	}
	out := make([]byte, 0, n)
	for zero >= 0 {
		if zero+1 == len(b) || b[zero+1] != 0xff {
			return nil, errKeyEnd
		}
		out = append(out, b[:zero+1]...)
		b = b[zero+2:]
		zero = bytes.IndexByte(b, 0)
	}
	return append(out, b...), nil
}

func appendSpan(dst []byte, s window.Span) []byte {
	start, end := s.Millis()
	return appendInt64(appendInt64(dst, start), end)
}

// cutSpan splits off the span at the end of b.
func cutSpan(b []byte) (key []byte, s window.Span, err error) {
	n := len(b) - spanSize
	if n < 0 {
		return nil, s, fmt.Errorf("serde: windowed key has %d bytes, its span alone needs %d", len(b), spanSize)
	}
	start, end := readInt64(b[n:]), readInt64(b[n+8:])
	if end < start {
		return nil, s, fmt.Errorf("serde: span of a windowed key ends at %d, before its start %d", end, start)
	}
	return b[:n], window.SpanMillis(start, end), nil
}
