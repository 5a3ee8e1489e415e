package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/serde"
)

// A pane is a piece that windows share, and its aggregate.
type pane[R any] struct {
	start int64
	t     int64 // of the latest record
	r     R
}

// strip is what is stored per key: its panes, in the order of time.
type strip[R any] = []pane[R]

// stripSerde encodes strips: how many panes, then for each when it starts behind the one before, how long after that its latest record
// came, and its aggregate behind its length.
type stripSerde[R any] struct{ value serde.Serde[R] }

func (s stripSerde[R]) Append(dst []byte, list strip[R]) ([]byte, error) {
	out := binary.AppendUvarint(dst, uint64(len(list)))
	before := int64(0)
	for i := range list {
		p := &list[i]
		out = binary.AppendVarint(out, p.start-before)
		out = binary.AppendUvarint(out, uint64(p.t-p.start))
		before = p.start
		at := len(out)
		out = append(out, 0)
		var err error
		if out, err = s.value.Append(out, p.r); err != nil {
			return dst, fmt.Errorf("pane at %d: %w", p.start, err)
		}
		n := len(out) - at - 1
		if n < 1<<7 {
			out[at] = byte(n)
			continue
		}
		var length [binary.MaxVarintLen64]byte
		out = slices.Replace(out, at, at+1, length[:binary.PutUvarint(length[:], uint64(n))]...)
	}
	return out, nil
}

var errStrip = errors.New("stored panes are cut short")

func (s stripSerde[R]) Decode(b []byte) (strip[R], error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)) {
		return nil, errStrip
	}
	b = b[w:]
	list := make(strip[R], n)
	before := int64(0)
	for i := range list {
		p := &list[i]
		start, w := binary.Varint(b)
		if w <= 0 {
			return nil, errStrip
		}
		b = b[w:]
		after, w := binary.Uvarint(b)
		if w <= 0 {
			return nil, errStrip
		}
		b = b[w:]
		size, w := binary.Uvarint(b)
		if w <= 0 || size > uint64(len(b)-w) {
			return nil, errStrip
		}
		p.start = before + start
		p.t = p.start + int64(after)
		before = p.start
		var err error
		if p.r, err = s.value.Decode(b[w : w+int(size) : w+int(size)]); err != nil {
			return nil, err
		}
		b = b[w+int(size):]
	}
	return list, nil
}

const stripFormat = "panes/1:"

func (s stripSerde[R]) Format() string { return stripFormat + s.value.Format() }

// Accepts passes the question on to the value's serde.
func (s stripSerde[R]) Accepts(stored string) error {
	return acceptsBehind(stripFormat, s.value, stored)
}

// cloneStrip copies strips without encoding them, if their aggregates can be; nil: they cannot.
func cloneStrip[R any](s serde.Serde[R]) func(strip[R]) strip[R] {
	switch {
	case serde.Plain[R]():
		return slices.Clone[strip[R]]
	case !serde.Clones[R]():
		return nil
	}
	clone := serde.Cloner(s)
	return func(list strip[R]) strip[R] {
		list = slices.Clone(list)
		for i := range list {
			list[i].r, _ = clone(list[i].r) // a Clone method does not fail
		}
		return list
	}
}

// A paneKey is what formats of a pane table's keys say: windows of another shape lie in other places.
type paneKey struct{ shape, key string }

func (k paneKey) Format() string { return fmt.Sprintf("panes/1 %s %s", k.shape, k.key) }

// openStrips opens the store of a pane table.
func openStrips[K, R any](in *instance, name, shape string, s *rowSerdes[K, R]) *overlay.Store[strip[R]] {
	return openStore(in, "panes", name, anyFormat{paneKey{shape, s.key.Format()}}, stripSerde[R]{s.value}, false, cloneStrip(s.value), false).Grouped(timeBytes).Behind(touchLast[pane[R]])
}
