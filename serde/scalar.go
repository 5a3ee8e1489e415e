package serde

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// The built-in serdes. Integers and times are big-endian with the sign bit flipped, so that bytes sort.
//
// They are variables because Go has no constants of such types. Each has a type of its own with one value, so an
// assignment to them changes nothing.
var (
	// String is the bytes of the string, whatever they are; it does not ask for UTF-8.
	String stringSerde

	// Bytes is the bytes themselves. Decode copies; nil and empty are the same, and decode as empty.
	Bytes bytesSerde

	// Bool is one byte, 0 or 1.
	Bool boolSerde

	// Int32 is four bytes, big-endian, the sign bit flipped.
	Int32 int32Serde

	// Int64 is eight bytes, big-endian, the sign bit flipped. Kafka's own LongSerializer does not flip it:
	// see package serde/raw for topics that others read.
	Int64 int64Serde

	// Uint64 is eight bytes, big-endian.
	Uint64 uint64Serde

	// Float64 is eight bytes that sort as the numbers do. -0 is written as 0, since both are equal as keys; every NaN is
	// written as one NaN, which sorts last.
	Float64 float64Serde

	// Time is Unix milliseconds as Int64 writes them. It drops what is finer, and the zone: times decode in UTC. A
	// time further than 292 million years from 1970 does not fit, and is a data error.
	Time timeSerde

	// Unit is for topics without keys. It writes no bytes and ignores those it reads.
	Unit unitSerde
)

// signBit is what makes two's complement sort as unsigned bytes when it is flipped.
const signBit = 1 << 63

// wrongSize is the error for a scalar of so many bytes. It does not quote the input, which may be anything.
func wrongSize(what string, want, got int) error {
	return fmt.Errorf("serde: %s has %d bytes, want %d", what, got, want)
}

type boolSerde struct{}

func (boolSerde) Append(dst []byte, v bool) ([]byte, error) {
	if v {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

func (boolSerde) Decode(b []byte) (bool, error) {
	if len(b) != 1 {
		return false, wrongSize("bool", 1, len(b))
	}
	if b[0] > 1 {
		return false, fmt.Errorf("serde: bool is byte 0x%02x, want 0 or 1", b[0])
	}
	return b[0] == 1, nil
}

func (boolSerde) Format() string { return "bool" }
func (boolSerde) size() int      { return 1 }

type int32Serde struct{}

func (int32Serde) Append(dst []byte, v int32) ([]byte, error) {
	return binary.BigEndian.AppendUint32(dst, uint32(v)^1<<31), nil
}

func (int32Serde) Decode(b []byte) (int32, error) {
	if len(b) != 4 {
		return 0, wrongSize("int32", 4, len(b))
	}
	return int32(binary.BigEndian.Uint32(b) ^ 1<<31), nil
}

func (int32Serde) Format() string { return "int32" }
func (int32Serde) OrderedBytes()  {}
func (int32Serde) size() int      { return 4 }

type int64Serde struct{}

func (int64Serde) Append(dst []byte, v int64) ([]byte, error) {
	return appendInt64(dst, v), nil
}

func (int64Serde) Decode(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, wrongSize("int64", 8, len(b))
	}
	return readInt64(b), nil
}

func (int64Serde) Format() string { return "int64" }
func (int64Serde) OrderedBytes()  {}
func (int64Serde) size() int      { return 8 }

func appendInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^signBit)
}

func readInt64(b []byte) int64 {
	return int64(binary.BigEndian.Uint64(b) ^ signBit)
}

type uint64Serde struct{}

func (uint64Serde) Append(dst []byte, v uint64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, v), nil
}

func (uint64Serde) Decode(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, wrongSize("uint64", 8, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

func (uint64Serde) Format() string { return "uint64" }
func (uint64Serde) OrderedBytes()  {}
func (uint64Serde) size() int      { return 8 }

type float64Serde struct{}

func (float64Serde) Append(dst []byte, v float64) ([]byte, error) {
	if v == 0 || v != v { // one form each for the two zeros and for the many NaNs
		v = canonical(v)
	}
	bits := math.Float64bits(v)
	if bits&signBit != 0 {
		bits = ^bits // a larger magnitude is a smaller number
	} else {
		bits ^= signBit
	}
	return binary.BigEndian.AppendUint64(dst, bits), nil
}

func canonical(v float64) float64 {
	if v == 0 {
		return 0
	}
	return math.NaN()
}

func (float64Serde) Decode(b []byte) (float64, error) {
	if len(b) != 8 {
		return 0, wrongSize("float64", 8, len(b))
	}
	bits := binary.BigEndian.Uint64(b)
	if bits&signBit != 0 {
		bits ^= signBit
	} else {
		bits = ^bits
	}
	return math.Float64frombits(bits), nil
}

func (float64Serde) Format() string { return "float64" }
func (float64Serde) OrderedBytes()  {}
func (float64Serde) size() int      { return 8 }

// errTimeRange is for times that Unix milliseconds in 64 bits cannot hold.
var errTimeRange = errors.New("serde: time is more than 292 million years from 1970, it does not fit milliseconds in 64 bits")

type timeSerde struct{}

func (timeSerde) Append(dst []byte, v time.Time) ([]byte, error) {
	if s := v.Unix(); s >= math.MaxInt64/1000 || s <= math.MinInt64/1000 {
		return dst, errTimeRange
	}
	return appendInt64(dst, v.UnixMilli()), nil
}

func (timeSerde) Decode(b []byte) (time.Time, error) {
	if len(b) != 8 {
		return time.Time{}, wrongSize("time", 8, len(b))
	}
	return time.UnixMilli(readInt64(b)).UTC(), nil
}

func (timeSerde) Format() string { return "time" }
func (timeSerde) OrderedBytes()  {}
func (timeSerde) size() int      { return 8 }
