package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// SliceOf is satisfied by []V alone; it is always inferred. Operators that keep state have a type parameter of it even where they
// return no slice: a generic method is compiled only where it is called, any other one for every type that a program uses.
type SliceOf[V any] interface{ []V }

// TopN keeps the n greatest values per key, greatest first. Of values that compare equal the earlier ones come first.
func (g *Grouped[K, V]) TopN[S SliceOf[V]](n int, compare func(a, b V) int, opts ...TableOption) *Table[K, S] {
	g.from.b.atLeastOne("TopN", n)
	return aggregate(g, "top", topSerde[V, S](g.from.value), tableOptions(opts), top[K, V, S](n, compare))
}

// TopN is described at Grouped.
func (w *Windowed[K, V]) TopN[S SliceOf[V], WK window.KeyOf[K]](n int, compare func(a, b V) int, opts ...WindowOption) *Table[WK, S] {
	w.g.from.b.atLeastOne("TopN", n)
	return windowed[K, V, S, WK](w, "top", topSerde[V, S](w.g.from.value), windowOptions(opts), top[K, V, S](n, compare), nil)
}

// atLeastOne notes a count that is not positive.
func (b *Builder) atLeastOne(what string, n int) {
	if n < 1 {
		b.problem(caller(), fmt.Errorf("%s(%d): it keeps at least one", what, n))
	}
}

// top is the fold of TopN.
func top[K, V any, S SliceOf[V]](n int, compare func(a, b V) int) func(k K, v V, best S, had bool) S {
	return func(_ K, v V, best S, _ bool) S {
		if len(best) == n && compare(v, best[n-1]) <= 0 {
			return best
		}
		at, _ := slices.BinarySearchFunc(best, v, func(in, v V) int {
			if compare(in, v) >= 0 {
				return -1 // behind what is greater or as great
			}
			return 1
		})
		if len(best) == n {
			best = best[:n-1]
		}
		return slices.Insert(best, at, v)
	}
}

// topSerde encodes the values of TopN with the serde of one.
func topSerde[V any, S SliceOf[V]](value serde.Serde[V]) serde.Serde[S] {
	return listSerde[V, S]{orFor(value)}
}

// A listSerde encodes slices: their length, then each element behind its own length.
type listSerde[V any, S SliceOf[V]] struct{ element serde.Serde[V] }

func (s listSerde[V, S]) Append(dst []byte, list S) ([]byte, error) {
	out := binary.AppendUvarint(dst, uint64(len(list)))
	for i, v := range list {
		at := len(out)
		out = append(out, 0, 0, 0, 0)
		var err error
		if out, err = s.element.Append(out, v); err != nil {
			return dst, fmt.Errorf("element %d: %w", i, err)
		}
		binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	}
	return out, nil
}

var errList = errors.New("a list is cut short")

func (s listSerde[V, S]) Decode(b []byte) (S, error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w)/4 {
		return nil, errList
	}
	b = b[w:]
	list := make(S, 0, n)
	for i := range n {
		if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
			return nil, errList
		}
		size := binary.BigEndian.Uint32(b)
		v, err := s.element.Decode(b[4 : 4+size])
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		list, b = append(list, v), b[4+size:]
	}
	return list, nil
}

func (s listSerde[V, S]) Format() string { return "list/1 of " + s.element.Format() }
func (s listSerde[V, S]) Problem() error { return serde.Problem(s.element) }

func (s listSerde[V, S]) Bind(at serde.Binding) (serde.Serde[S], error) {
	element, err := serde.Bind(s.element, at)
	if err != nil {
		return nil, err
	}
	return listSerde[V, S]{element}, nil
}

// cloner says how a list whose elements are plain is copied: without encoding it.
func (s listSerde[V, S]) cloner() func(S) S {
	if !serde.Plain[V]() {
		return nil
	}
	return slices.Clone[S]
}
