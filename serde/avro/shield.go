package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Limits on what comes from outside, whichever codec reads it.
const (
	// MaxValueBytes is the longest value that is decoded. Kafka's default limit is 1 MiB.
	MaxValueBytes = 64 << 20

	// maxDepth is how deep values may nest. A linked list takes two levels a record: the union of its pointer, and the record.
	maxDepth = 1000

	// maxEmptyItems bounds the items of an array whose items have no bytes: nothing else does.
	maxEmptyItems = 4096
)

var (
	errShort   = errors.New("the value ends early")
	errVarint  = errors.New("a number has more than 64 bits")
	errLength  = errors.New("a length is negative or longer than the value")
	errCount   = errors.New("a count is larger than the value can hold")
	errDepth   = fmt.Errorf("it nests deeper than %d", maxDepth)
	errBranch  = errors.New("it names a union branch that the schema does not have")
	errSymbol  = errors.New("it names an enum symbol that the schema does not have")
	errBoolean = errors.New("a boolean is neither 0 nor 1")
	errText    = errors.New("a string is not UTF-8")
	errRange   = errors.New("an int has more than 32 bits")
)

// Shield returns a check of bytes against the schema that wrote them: all counts, lengths and indexes lead where the value
// has bytes, and strings are UTF-8. It allocates nothing and takes time in proportion to the bytes. Codecs whose decoder
// trusts its input call it first.
func Shield(writer *Type) func(b []byte) error {
	return func(b []byte) error {
		rest, err := skip(writer, b, 0)
		if err == nil && len(rest) > 0 {
			return leftOver(len(rest))
		}
		return err
	}
}

func leftOver(n int) error {
	return fmt.Errorf("%d bytes are left over: it was written with another schema", n)
}

// skip checks one value and returns what follows it.
func skip(t *Type, b []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	switch t.Kind {
	case KindNull:
		return b, nil
	case KindBoolean:
		if len(b) == 0 {
			return nil, errShort
		}
		if b[0] > 1 {
			return nil, errBoolean
		}
		return b[1:], nil
	case KindInt:
		_, rest, err := short(b)
		return rest, err
	case KindLong:
		_, rest, err := long(b)
		return rest, err
	case KindFloat:
		return take(b, 4)
	case KindDouble:
		return take(b, 8)
	case KindFixed:
		return take(b, t.Size)
	case KindBytes, KindString:
		return skipText(t.Kind == KindString, b)
	case KindEnum:
		n, rest, err := short(b)
		if err == nil && (n < 0 || n >= int64(len(t.Symbols))) {
			err = errSymbol
		}
		return rest, err
	}
	return skipNested(t, b, depth)
}

// skipNested is skip for kinds that contain others.
func skipNested(t *Type, b []byte, depth int) (rest []byte, err error) {
	switch t.Kind {
	case KindUnion:
		n, rest, err := short(b)
		if err != nil {
			return nil, err
		}
		if n < 0 || n >= int64(len(t.Branches)) {
			return nil, errBranch
		}
		return skip(t.Branches[n], rest, depth+1)
	case KindRecord:
		for i := range t.Fields {
			if b, err = skip(t.Fields[i].Type, b, depth+1); err != nil {
				return nil, err
			}
		}
		return b, nil
	case KindArray, KindMap:
		return skipBlocks(t, b, depth)
	}
	return nil, fmt.Errorf("the schema has an unknown kind %q", t.Kind)
}

// skipBlocks checks the blocks of an array or map.
func skipBlocks(t *Type, b []byte, depth int) ([]byte, error) {
	empty := 0 // items that took no bytes
	for {
		count, rest, err := blockCount(b)
		if err != nil || count == 0 {
			return rest, err
		}
		b = rest
		for range count {
			before := len(b)
			if t.Kind == KindMap {
				if b, err = skipText(true, b); err != nil {
					return nil, err
				}
			}
			if b, err = skip(t.Elem, b, depth+1); err != nil {
				return nil, err
			}
			if len(b) == before {
				if empty++; empty > maxEmptyItems {
					return nil, errCount
				}
			}
		}
	}
}

// blockCount reads the head of a block. A negative count is followed by the block's length in bytes.
func blockCount(b []byte) (count int64, rest []byte, err error) {
	if count, b, err = long(b); err != nil {
		return 0, nil, err
	}
	if count < 0 {
		if count == math.MinInt64 {
			return 0, nil, errCount
		}
		var size int64
		if size, b, err = long(b); err != nil {
			return 0, nil, err
		}
		if count = -count; size < 0 || size > int64(len(b)) {
			return 0, nil, errLength
		}
	}
	if count > int64(max(len(b), maxEmptyItems)) {
		return 0, nil, errCount
	}
	return count, b, nil
}

func skipText(text bool, b []byte) ([]byte, error) {
	n, b, err := long(b)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(b)) {
		return nil, errLength
	}
	if text && !utf8.Valid(b[:n]) {
		return nil, errText
	}
	return b[n:], nil
}

func take(b []byte, n int) ([]byte, error) {
	if len(b) < n {
		return nil, errShort
	}
	return b[n:], nil
}

// short reads a zig-zag number of 32 bits. Codecs read no more than five bytes of one, so neither may it be written longer.
func short(b []byte) (int64, []byte, error) {
	n, rest, err := long(b)
	if err == nil && (n < math.MinInt32 || n > math.MaxInt32 || len(b)-len(rest) > binary.MaxVarintLen32) {
		err = errRange
	}
	return n, rest, err
}

// long reads a zig-zag number.
func long(b []byte) (int64, []byte, error) {
	u, n := binary.Uvarint(b)
	switch {
	case n == 0:
		return 0, nil, errShort
	case n < 0:
		return 0, nil, errVarint
	}
	return int64(u>>1) ^ -int64(u&1), b[n:], nil
}
