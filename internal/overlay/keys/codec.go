package keys

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrMalformed is returned for bytes that this package did not write.
var ErrMalformed = errors.New("keys: malformed key")

const (
	escape     = 0x00
	escaped    = 0xff // behind escape: a zero byte
	terminator = 0x01 // behind escape: the end
)

// AppendBytes appends b so that it may be followed by something else: escaped, with an end that sorts before every byte.
func AppendBytes(dst, b []byte) []byte {
	if len(b) <= fewBytes {
		return appendFew(dst, b)
	}
	for {
		i := bytes.IndexByte(b, escape)
		if i < 0 {
			return append(append(dst, b...), escape, terminator)
		}
		dst = append(append(dst, b[:i]...), escape, escaped)
		b = b[i+1:]
	}
}

// fewBytes is up to where looking at each byte is cheaper than searching: numbers have many zeros.
const fewBytes = 16

func appendFew(dst, b []byte) []byte {
	var room [2*fewBytes + 2]byte
	n := 0
	for _, c := range b {
		room[n] = c
		n++
		if c == escape {
			room[n] = escaped
			n++
		}
	}
	room[n], room[n+1] = escape, terminator
	return append(dst, room[:n+2]...)
}

// CutBytes appends to dst what AppendBytes wrote at the beginning of src, and returns what follows it.
func CutBytes(dst, src []byte) (b, rest []byte, err error) {
	for {
		i := bytes.IndexByte(src, escape)
		if i < 0 || i+1 == len(src) {
			return nil, nil, ErrMalformed
		}
		dst = append(dst, src[:i]...)
		mark := src[i+1]
		src = src[i+2:]
		switch mark {
		case terminator:
			return dst, src, nil
		case escaped:
			dst = append(dst, 0)
		default:
			return nil, nil, ErrMalformed
		}
	}
}

// AppendTime appends milliseconds so that earlier times sort first.
func AppendTime(dst []byte, ms int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(ms)^1<<63)
}

// CutTime reads what AppendTime wrote at the beginning of src.
func CutTime(src []byte) (ms int64, rest []byte, err error) {
	if len(src) < 8 {
		return 0, nil, ErrMalformed
	}
	return int64(binary.BigEndian.Uint64(src) ^ 1<<63), src[8:], nil
}

// AppendTimeDown appends milliseconds so that later times sort first.
func AppendTimeDown(dst []byte, ms int64) []byte { return AppendTime(dst, ^ms) }

// CutTimeDown reads what AppendTimeDown wrote at the beginning of src.
func CutTimeDown(src []byte) (ms int64, rest []byte, err error) {
	ms, rest, err = CutTime(src)
	return ^ms, rest, err
}
