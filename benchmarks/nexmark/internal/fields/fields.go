// Package fields writes and reads records of integers and strings: varints, and strings behind their length. It is as
// small and fast as a user who cares would make it.
package fields

import (
	"encoding/binary"
	"errors"
)

// Ints appends varints.
func Ints(b []byte, all ...int64) []byte {
	for _, v := range all {
		b = binary.AppendVarint(b, v)
	}
	return b
}

// Strings appends strings, each behind its length.
func Strings(b []byte, all ...string) []byte {
	for _, s := range all {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// Errors of a Reader.
var (
	ErrShort = errors.New("fields: cut short")
	ErrLong  = errors.New("fields: bytes left over")
)

// A Reader takes fields off a slice and remembers that one was missing. What it returns does not share the slice.
type Reader struct {
	b     []byte
	short bool
}

// Read begins to read b.
func Read(b []byte) Reader { return Reader{b: b} }

// Int takes a varint.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.short, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// String takes a string.
func (r *Reader) String() string {
	size, n := binary.Uvarint(r.b)
	if n <= 0 || size > uint64(len(r.b)-n) {
		r.short, r.b = true, nil
		return ""
	}
	s := string(r.b[n : n+int(size)])
	r.b = r.b[n+int(size):]
	return s
}

// End is the error of the whole: something missing, or something left over.
func (r *Reader) End() error {
	switch {
	case r.short:
		return ErrShort
	case len(r.b) > 0:
		return ErrLong
	}
	return nil
}
