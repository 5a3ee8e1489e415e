// Package raw encodes a single scalar as other systems write it: a number with its endianness, a text with its charset.
//
// Topics of Kafka's own Java serializers are raw.Number[int64](raw.BigEndian) for LongSerializer, likewise for Integer,
// Short, Float and Double, and serde.String or raw.Text(raw.UTF8) for StringSerializer. Their bytes do not sort as signed numbers do; package
// serde has serdes for keys whose order matters.
package raw

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"github.com/weirstream/weir/serde"
)

// An Endian is the order of a number's bytes.
type Endian bool

// The byte orders. Kafka, Java and networks write the most significant byte first.
const (
	BigEndian    Endian = false
	LittleEndian Endian = true
)

// String returns "big endian" or "little endian".
func (e Endian) String() string {
	if e == LittleEndian {
		return "little endian"
	}
	return "big endian"
}

// Scalar is what Number encodes: a number whose size does not depend on the machine.
type Scalar interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Number is T in as many bytes as it has: integers in two's complement, floats as IEEE 754 lays them out, every bit kept.
func Number[T Scalar](e Endian) serde.Serde[T] {
	t := reflect.TypeFor[T]()
	return number[T]{little: e == LittleEndian, size: int(t.Size()), format: fmt.Sprintf("raw %v %v", t, e)}
}

type number[T Scalar] struct {
	little bool
	size   int
	format string
}

func (n number[T]) Format() string { return n.format }

func (n number[T]) Append(dst []byte, v T) ([]byte, error) {
	bits := bitsOf(v)
	if !n.little {
		switch n.size {
		case 1:
			return append(dst, byte(bits)), nil
		case 2:
			return binary.BigEndian.AppendUint16(dst, uint16(bits)), nil
		case 4:
			return binary.BigEndian.AppendUint32(dst, uint32(bits)), nil
		}
		return binary.BigEndian.AppendUint64(dst, bits), nil
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	return append(dst, b[:n.size]...), nil // the low bytes come first
}

func (n number[T]) Decode(b []byte) (v T, err error) {
	if len(b) != n.size {
		return v, fmt.Errorf("raw: %T has %d bytes, want %d", v, len(b), n.size)
	}
	var bits uint64
	for i, c := range b {
		if n.little {
			bits |= uint64(c) << (8 * i)
		} else {
			bits = bits<<8 | uint64(c)
		}
	}
	return ofBits[T](bits), nil
}

// bitsOf returns the bits of v in the low end.
func bitsOf[T Scalar](v T) uint64 {
	switch v := any(v).(type) {
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	}
	return uint64(v)
}

// ofBits is bitsOf the other way.
func ofBits[T Scalar](bits uint64) T {
	var v T
	switch p := any(&v).(type) {
	case *float32:
		*p = math.Float32frombits(uint32(bits))
	case *float64:
		*p = math.Float64frombits(bits)
	default:
		v = T(bits)
	}
	return v
}
