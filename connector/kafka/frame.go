package kafka

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// The requests that carry records are put together and taken apart here: everything else is sarama's. Integers are big-endian,
// strings have a length of two bytes and arrays one of four; -1 is null.

func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func appendOptional(b []byte, s *string) []byte {
	if s == nil {
		return append(b, 0xff, 0xff)
	}
	return appendString(b, *s)
}

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// appendVarint appends a varint in zigzag form, as records have them. Most have one byte or two.
func appendVarint(b []byte, v int64) []byte {
	switch u := uint64(v<<1) ^ uint64(v>>63); {
	case u < 1<<7:
		return append(b, byte(u))
	case u < 1<<14:
		return append(b, byte(u)|0x80, byte(u>>7))
	default:
		return binary.AppendUvarint(b, u)
	}
}

// varintSize is how many bytes appendVarint appends.
func varintSize(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}

var errShort = errors.New("the broker's answer ends too early")

// An answerBody is what is left of an answer. Once it was too short all that is read of it is zero, and short says so.
type answerBody struct {
	b     []byte
	short bool
}

func (a *answerBody) take(n int) []byte {
	if n < 0 || n > len(a.b) {
		a.b, a.short = nil, true
		return nil
	}
	v := a.b[:n:n]
	a.b = a.b[n:]
	return v
}

func (a *answerBody) int16() int16 {
	if v := a.take(2); v != nil {
		return int16(binary.BigEndian.Uint16(v))
	}
	return 0
}

func (a *answerBody) int32() int32 {
	if v := a.take(4); v != nil {
		return int32(binary.BigEndian.Uint32(v))
	}
	return 0
}

func (a *answerBody) int64() int64 {
	if v := a.take(8); v != nil {
		return int64(binary.BigEndian.Uint64(v))
	}
	return 0
}

// count is the length of an array whose elements have at least size bytes: one that cannot be is refused before anybody makes room for it.
func (a *answerBody) count(size int) int {
	n := a.int32()
	if int64(n)*int64(size) > int64(len(a.b)) {
		a.b, a.short = nil, true
		return 0
	}
	return max(int(n), 0)
}

// bytes is a string or, with an int32 before it, bytes; nil is null.
func (a *answerBody) string() []byte { return a.sized(int(a.int16())) }
func (a *answerBody) bytes() []byte  { return a.sized(int(a.int32())) }

func (a *answerBody) sized(n int) []byte {
	if n < 0 {
		return nil
	}
	return a.take(n)
}
