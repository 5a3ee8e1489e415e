package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/weirstream/weir/serde"
)

// A listRow is a chunk of a list or its head, which says how many elements are in chunks and when the last came.
type listRow[T any] struct {
	chunk *chunk[T] // nil: no elements
	start int64     // of a head: the number of its first element
	time  int64
	head  bool
}

// A chunk is elements that lie together. Those that are there never change, so whoever has a slice of them may keep it.
type chunk[T any] struct {
	elements []T
	encoded  int // as many of them were encoded or decoded,
	bytes    int // and took so many bytes
}

func (r listRow[T]) writtenAt() int64 { return r.time }

// last are the elements of the row: of a head, the list's last.
func (r listRow[T]) last() []T {
	if r.chunk == nil {
		return nil
	}
	return r.chunk.elements
}

// cloneListRow copies a row so that Append to one does not show in the other.
func cloneListRow[T any](r listRow[T]) listRow[T] {
	if r.chunk != nil {
		c := *r.chunk
		c.elements = slices.Clip(c.elements)
		r.chunk = &c
	}
	return r
}

// When a head's elements become a chunk. A checkpoint writes the head as a whole, so what it has of former checkpoints is kept small;
// what came since the last one costs nothing more for being many.
const (
	listRewritten = 512     // bytes that checkpoints have written of it
	listChunk     = 4 << 10 // bytes in all
)

// The first byte of a row, and behind it:
const (
	listElement  = 0 // list/1: one element
	listCount    = 1 // list/1: the head, how many elements and the time of the last
	listHead     = 2 // the same of those in chunks, and the others
	listElements = 3 // elements: four bytes of length and the element, for each
)

const listHeadBytes = 17

type listRowSerde[T any] struct {
	element serde.Serde[T]
	typical *int // bytes of an element, of those that were encoded last; a task's own, as the store is
}

// listFormats are before the element's format in that of a list: the one that is written and those that are read.
var listFormats = [...]string{"list/2:", "list/1:"}

func (s listRowSerde[T]) Format() string { return listFormats[0] + s.element.Format() }

// Accepts passes the question on to the element's serde: all forms of lists are read.
func (s listRowSerde[T]) Accepts(stored string) error {
	for _, f := range listFormats {
		if element, ok := strings.CutPrefix(stored, f); ok {
			return serde.Accepts(s.element, element)
		}
	}
	return fmt.Errorf("%w: %q is no format of lists, which begin with %q", serde.ErrIncompatible, stored, listFormats)
}

func (s listRowSerde[T]) Append(dst []byte, r listRow[T]) (_ []byte, err error) {
	if r.head {
		dst = binary.BigEndian.AppendUint64(append(dst, listHead), uint64(r.start))
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.time))
	} else {
		dst = append(dst, listElements)
	}
	if r.chunk == nil {
		return dst, nil
	}
	begin := len(dst)
	for _, v := range r.chunk.elements {
		at := len(dst)
		if dst, err = s.element.Append(append(dst, 0, 0, 0, 0), v); err != nil {
			return dst, err
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	if r.chunk.encoded, r.chunk.bytes = len(r.chunk.elements), len(dst)-begin; r.chunk.encoded > 0 {
		*s.typical = r.chunk.bytes / r.chunk.encoded
	}
	return dst, nil
}

var errListRow = errors.New("the row of a list is damaged")

func (s listRowSerde[T]) Decode(b []byte) (r listRow[T], err error) {
	if len(b) == 0 {
		return r, errListRow
	}
	if kind := b[0]; kind == listCount || kind == listHead {
		if len(b) < listHeadBytes {
			return r, errListRow
		}
		r.head, r.start, r.time = true, int64(binary.BigEndian.Uint64(b[1:])), int64(binary.BigEndian.Uint64(b[9:]))
	}
	switch {
	case b[0] == listElement:
		v, err := s.element.Decode(b[1:])
		r.chunk = &chunk[T]{[]T{v}, 1, len(b)}
		return r, err
	case b[0] == listCount && len(b) == listHeadBytes:
		return r, nil
	case b[0] == listHead:
		r.chunk, err = s.decodeElements(b[listHeadBytes:])
		return r, err
	case b[0] == listElements:
		r.chunk, err = s.decodeElements(b[1:])
		return r, err
	}
	return r, errListRow
}

func (s listRowSerde[T]) decodeElements(b []byte) (*chunk[T], error) {
	n, err := countElements(b)
	if n == 0 || err != nil {
		return nil, err
	}
	c := &chunk[T]{make([]T, n), n, len(b)}
	for i := range n {
		end := 4 + int(binary.BigEndian.Uint32(b))
		if c.elements[i], err = s.element.Decode(b[4:end]); err != nil {
			return nil, err
		}
		b = b[end:]
	}
	return c, nil
}

func countElements(b []byte) (n int, err error) {
	for len(b) > 0 {
		if len(b) < 4 || int64(binary.BigEndian.Uint32(b)) > int64(len(b)-4) {
			return 0, errListRow
		}
		b = b[4+binary.BigEndian.Uint32(b):]
		n++
	}
	return n, nil
}

// Size is the memory behind a row, see overlay.Config: of elements that were not encoded yet, what is typical.
func (s listRowSerde[T]) Size(r listRow[T]) int {
	if r.chunk == nil {
		return 0
	}
	return int(unsafe.Sizeof(*r.chunk)) + cap(r.chunk.elements)*int(unsafe.Sizeof(*new(T))) + s.bytes(r.chunk)
}

// bytes is what a chunk's elements take when they are encoded, about.
func (s listRowSerde[T]) bytes(c *chunk[T]) int {
	return c.bytes + (len(c.elements)-c.encoded)**s.typical
}

// full reports whether a head's elements are to become a chunk.
func (s listRowSerde[T]) full(c *chunk[T]) bool {
	return c.bytes >= listRewritten || s.bytes(c) >= listChunk
}

// learn has a first element say what is typical. An element that cannot be encoded is the next checkpoint's to refuse.
func (s listRowSerde[T]) learn(v T) {
	if *s.typical == 0 {
		if b, err := s.element.Append(nil, v); err == nil {
			*s.typical = 4 + len(b)
		}
	}
}
