package avro

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// values encodes and decodes values of one type by compiled functions. Codecs want pointers, and a pointer that is handed
// to a function nobody can see into makes what it points to escape: an allocation for each record. So values pass
// through boxes that are used again.
type values[T any] struct {
	boxes sync.Pool // *T, zero
	valid textCheck
}

func newValues[T any]() *values[T] {
	v := &values[T]{valid: textCheckOf(reflect.TypeFor[T]())}
	v.boxes.New = func() any { return new(T) }
	return v
}

// append encodes v at the end of dst. What decode would refuse is refused here.
func (c *values[T]) append(dst []byte, v T, encode Encoder) ([]byte, error) {
	box := c.boxes.Get().(*T)
	*box = v
	before := len(dst)
	dst, err := encode(dst, box)
	switch {
	case err != nil:
	case len(dst)-before > MaxValueBytes:
		err = fmt.Errorf("it has %d bytes, at most %d are written", len(dst)-before, MaxValueBytes)
	case c.valid != nil && !c.valid(unsafe.Pointer(box)): // after encoding, which ends with an error where a value contains itself
		err = errText
	}
	clear(unsafe.Slice(box, 1))
	c.boxes.Put(box)
	if err != nil {
		return dst, fmt.Errorf("avro: encoding a %v: %w", reflect.TypeFor[T](), err)
	}
	return dst, nil
}

// decode reads one value, all of b.
func (c *values[T]) decode(b []byte, decode Decoder) (T, error) {
	if len(b) > MaxValueBytes {
		return *new(T), fmt.Errorf("avro: a value of %d bytes, at most %d are decoded", len(b), MaxValueBytes)
	}
	box := c.boxes.Get().(*T)
	rest, err := decode(b, box)
	v := *box
	if err == nil && len(rest) > 0 {
		err = leftOver(len(rest))
	}
	if err == nil && c.valid != nil && !c.valid(unsafe.Pointer(box)) {
		err = errText
	}
	clear(unsafe.Slice(box, 1))
	c.boxes.Put(box)
	if err != nil {
		return *new(T), fmt.Errorf("avro: decoding a %v: %w", reflect.TypeFor[T](), err)
	}
	return v, nil
}
