package serde

import (
	"errors"
	"fmt"
	"strings"
)

// Optional lets a null through as a nil pointer, where a stream source would drop it. A value that is there is encoded as s does,
// so the topic's other readers see nothing of this serde. Whether nil may be a key is up to the operators: a record
// whose key is null has no key.
//
// It is [Nullable]: sources and sinks turn null into nil and back, since null is not bytes. In state and internal topics, where null
// deletes, a first byte says whether a value follows.
func Optional[T any](s Serde[T]) Serde[*T] { return optional[T]{s} }

// formatOptional is in front of the format of what is inside.
const formatOptional = "optional "

// errNull tells whoever calls Append without asking IsNull.
var errNull = errors.New("serde: null has no bytes: whoever writes an optional value must ask IsNull first")

// optional is the form of topics. It is total but for nil.
type optional[T any] struct{ some Serde[T] }

func (o optional[T]) Append(dst []byte, v *T) ([]byte, error) {
	if v == nil {
		return dst, errNull
	}
	return o.some.Append(dst, *v)
}

func (o optional[T]) Decode(b []byte) (*T, error) {
	v, err := o.some.Decode(b)
	if err != nil {
		return nil, err
	}
	return &v, nil
}

func (o optional[T]) Format() string   { return formatOptional + o.some.Format() }
func (o optional[T]) IsNull(v *T) bool { return v == nil }
func (o optional[T]) Null() *T         { return nil }
func (o optional[T]) Problem() error   { return Problem(o.some) }

func (o optional[T]) Bind(at Binding) (Serde[*T], error) {
	some, err := Bind(o.some, at)
	if err != nil {
		return nil, err
	}
	if at.Internal {
		return tagged[T]{some}, nil
	}
	if h, ok := some.(HeaderDecoder[T]); ok {
		return optionalHeaders[T]{optional[T]{some}, h}, nil
	}
	return optional[T]{some}, nil
}

// optionalHeaders is optional around a serde that looks at headers.
type optionalHeaders[T any] struct {
	optional[T]
	head HeaderDecoder[T]
}

// DecodeHeaders implements [HeaderDecoder].
func (o optionalHeaders[T]) DecodeHeaders(b []byte, header func(name string) []byte) (*T, error) {
	v, err := o.head.DecodeHeaders(b, header)
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// tagged is the form of state and internal topics.
type tagged[T any] struct{ some Serde[T] }

// The first byte of the tagged form.
const (
	tagNull = 0
	tagSome = 1
)

func (t tagged[T]) Append(dst []byte, v *T) ([]byte, error) {
	if v == nil {
		return append(dst, tagNull), nil
	}
	return t.some.Append(append(dst, tagSome), *v)
}

func (t tagged[T]) Decode(b []byte) (*T, error) {
	switch {
	case len(b) == 0:
		return nil, errors.New("serde: optional value is empty, want a first byte of 0 or 1")
	case b[0] == tagNull && len(b) == 1:
		return nil, nil
	case b[0] == tagSome:
		v, err := t.some.Decode(b[1:])
		if err != nil {
			return nil, err
		}
		return &v, nil
	}
	return nil, fmt.Errorf("serde: optional value of %d bytes starts with 0x%02x", len(b), b[0])
}

func (t tagged[T]) Format() string { return formatOptional + t.some.Format() }
func (t tagged[T]) Problem() error { return Problem(t.some) }

// Accepts implements [Evolver]: what is inside decides.
func (t tagged[T]) Accepts(stored string) error {
	inside, ok := strings.CutPrefix(stored, formatOptional)
	if !ok {
		return fmt.Errorf("%w: it was written as %q, without the byte that says whether there is a value; see serde.Migrate", ErrIncompatible, stored)
	}
	return Accepts(t.some, inside)
}
