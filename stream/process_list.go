package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

// List declares a list per key.
func (p *Processor[K, K2, V2]) List[T any](name string, s serde.Serde[T], opts ...StateOption) state.List[T] {
	b, o, declaring := declare(p.declared, p.bound, name, opts, func(at *binding) (serde.Serde[T], error) { return bindInternal(at, s, false) })
	if declaring {
		return nil
	}
	rows := listRowSerde[T]{b, new(int)}
	l := &list[T]{cell: openCell(p.in, p.run, p.in.node.Name+"-"+name, rows, false, cloneListRow[T], o), rows: rows}
	l.all = l.iterate
	p.run.near = append(p.run.near, l.store.Behind(func(r listRow[T]) uint32 { return touchLast(r.last()) }))
	return l
}

// A list is a state.List. Its last elements lie with how many there are in the row under the key, the head; those before them lie in
// chunks, rows of their own that never change, under the key and the number of their first element. So Append changes one row, and reading
// looks up rows instead of searching a range. docs/adr/0073 has the reasons.
type list[T any] struct {
	cell[listRow[T]]
	rows  listRowSerde[T]
	all   iter.Seq[T] // what All returns, made once
	at    []byte      // the key of a chunk
	scans []*listScan[T]
	idle  *listScan[T] // one that was, for its buffers
}

func (l *list[T]) Append(vs ...T) {
	key := l.key()
	e := l.store.Entry(key)
	h, had := e.Get()
	if had && l.ttl.gone(h.time, l.now()) {
		l.drop(key, h)
		e, h, had = l.store.Entry(key), listRow[T]{}, false
	}
	l.remember(e)
	before, start := h.time, h.start
	h.head, h.time = true, l.now()
	full := l.fill(&h, vs)
	l.store.Set(e, h) // first, so that the chunks' entries do not displace it
	for _, c := range full {
		l.put(key, start, c)
		start += int64(len(c.elements))
	}
	l.written(key, before, had)
}

// fill appends to a head, and returns the chunks that are full of it.
func (l *list[T]) fill(h *listRow[T], vs []T) (full []*chunk[T]) {
	for i, v := range vs {
		if h.chunk == nil {
			h.chunk = &chunk[T]{}
		}
		if i == 0 {
			l.rows.learn(v)
		}
		h.chunk.elements = append(h.chunk.elements, v)
		if l.rows.full(h.chunk) {
			full = append(full, h.chunk)
			h.start += int64(len(h.chunk.elements))
			h.chunk = nil
		}
	}
	return full
}

// put writes a chunk. There is none under its number, so nothing is read.
func (l *list[T]) put(key []byte, start int64, c *chunk[T]) {
	l.at = appendChunkKey(l.at[:0], key, start)
	l.store.Put(l.at, listRow[T]{chunk: c})
	if l.run.guarded {
		at := bytes.Clone(l.at)
		l.run.undo = append(l.run.undo, func() { l.store.Delete(at) })
	}
}

func appendChunkKey(dst, key []byte, start int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, key...), uint64(start))
}

// head is the list's head, an empty one when it has expired.
func (l *list[T]) head() (key []byte, h listRow[T]) {
	key = l.key()
	h, had := l.store.Get(key)
	if had && l.ttl.gone(h.time, l.now()) {
		l.drop(key, h)
		return key, listRow[T]{}
	}
	return key, h
}

func (l *list[T]) Len() int {
	_, h := l.head()
	return int(h.start) + len(h.last())
}

func (l *list[T]) All() iter.Seq[T] { return l.all }

// iterate is All. The list may be changed meanwhile.
func (l *list[T]) iterate(yield func(T) bool) {
	key, h := l.head()
	last := h.last()
	if h.start > 0 && !l.chunks(key, h.start, yield) {
		return
	}
	for _, v := range last {
		if !yield(v) {
			return
		}
	}
}

func (l *list[T]) Clear() {
	key := l.key()
	if h, had := l.store.Get(key); had {
		l.drop(key, h)
	}
}

// drop removes a list with this head. Who is reading it goes on with what there was.
func (l *list[T]) drop(key []byte, h listRow[T]) {
	if h.start == 0 {
		l.remove(l.store.Entry(key))
		return
	}
	for _, sc := range l.scans {
		if bytes.Equal(sc.key, key) {
			l.finish(sc)
		}
	}
	l.removeAll(key)
}

// A listScan is a reading of a list's chunks.
type listScan[T any] struct {
	key     []byte
	at, end int64 // the numbers of the next element to look up, and of the head's first
	kept    []T   // what was there before the list was dropped
}

// chunks yields the elements before the head's.
func (l *list[T]) chunks(key []byte, end int64, yield func(T) bool) bool {
	sc := l.idle
	if l.idle = nil; sc == nil {
		sc = &listScan[T]{}
	}
	sc.key, sc.at, sc.end = append(sc.key[:0], key...), 0, end
	l.scans = append(l.scans, sc)
	defer l.close(sc)
	for sc.at < sc.end || len(sc.kept) > 0 {
		part := sc.kept
		if sc.kept = nil; part == nil {
			part = l.chunk(sc)
		}
		for _, v := range part {
			if !yield(v) {
				return false
			}
		}
	}
	return true
}

// chunk reads the next one.
func (l *list[T]) chunk(sc *listScan[T]) []T {
	l.at = appendChunkKey(l.at[:0], sc.key, sc.at)
	r, _ := l.store.Get(l.at)
	if len(r.last()) == 0 {
		panic(task.Failure{Err: fmt.Errorf("state %s: the list of stored key %q has no element %d of %d", l.name, sc.key, sc.at, sc.end)})
	}
	sc.at += int64(len(r.chunk.elements))
	return r.chunk.elements
}

// finish reads what a scan has not come to.
func (l *list[T]) finish(sc *listScan[T]) {
	for sc.at < sc.end {
		sc.kept = append(sc.kept, l.chunk(sc)...)
	}
}

func (l *list[T]) close(sc *listScan[T]) {
	l.scans = slices.DeleteFunc(l.scans, func(o *listScan[T]) bool { return o == sc })
	sc.kept = nil
	l.idle = sc
}
