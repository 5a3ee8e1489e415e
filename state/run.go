package state

import (
	"bytes"
	"iter"
	"slices"

	"github.com/weirstream/weir/internal/radix"
)

// A Run collects rows in any order and gives them back sorted, of each key the last: what an [Ingester] takes of a changelog.
// The zero value is empty. For the engine; used by one goroutine at a time.
//
// Rows lie in memory in the order they came, so reading them in another waits for memory at each. What sorting needs of a key is therefore kept when it
// comes: the eight bytes behind what most keys have in common, which is judged by the first of them.
type Run struct {
	data   []byte
	rows   []runRow
	prefix []byte       // of the keys of most rows
	alike  []radix.Item // those rows, with the eight bytes behind it. Below radix.Few all rows, without
	others []radix.Item
	sorted bool // the lists are in another order than the rows
	seen   byte // of what was touched, so that it is read
}

type runRow struct {
	at               int
	keyLen, valueLen int32 // valueLen below zero: deleted
}

const runRowBytes = 32 // with what is sorted for it

// Put adds a row, a copy of it. A nil value is an empty one.
func (r *Run) Put(key, value []byte) { r.add(key, value, int32(len(value))) }

// Delete adds a deletion.
func (r *Run) Delete(key []byte) { r.add(key, nil, -1) }

func (r *Run) add(key, value []byte, valueLen int32) {
	item := radix.Item{ID: uint32(len(r.rows))}
	r.rows = append(r.rows, runRow{at: len(r.data), keyLen: int32(len(key)), valueLen: valueLen})
	r.data = append(append(r.data, key...), value...)
	switch {
	case len(r.rows) <= radix.Few:
		r.alike = append(r.alike, item)
		if len(r.rows) == radix.Few {
			r.split()
		}
	case bytes.HasPrefix(key, r.prefix):
		item.Head = radix.Head(key[len(r.prefix):])
		r.alike = append(r.alike, item)
	default:
		r.others = append(r.others, item)
		if len(r.others) > len(r.alike) { // those that were looked at were not like the rest
			r.split()
		}
	}
}

// split finds what most keys have in common, and which have it: of some that are looked at the three quarters in the middle.
func (r *Run) split() {
	some := make([]radix.Item, radix.Few)
	for i := range some {
		some[i].ID = uint32(i * len(r.rows) / len(some))
	}
	key := func(id uint32) []byte { return r.key(r.rows[id]) }
	radix.By(some, key)
	first, last := key(some[len(some)/8].ID), key(some[len(some)*7/8].ID)
	r.prefix = append(r.prefix[:0], first[:radix.Common(first, last, len(first))]...)
	r.alike, r.others = r.alike[:0], r.others[:0]
	for i := range r.rows {
		if k := key(uint32(i)); bytes.HasPrefix(k, r.prefix) {
			r.alike = append(r.alike, radix.Item{Head: radix.Head(k[len(r.prefix):]), ID: uint32(i)})
		} else {
			r.others = append(r.others, radix.Item{ID: uint32(i)})
		}
	}
}

// Grow makes room for more rows that have so many bytes of keys and values each, so that adding them does not copy what is there. It takes no more
// than most bytes of memory for them.
func (r *Run) Grow(rows, each, most int) {
	rows = min(rows, most/(each+runRowBytes))
	r.rows, r.alike = slices.Grow(r.rows, rows), slices.Grow(r.alike, rows)
	r.data = slices.Grow(r.data, rows*each)
}

// Bytes is the memory that the rows take.
func (r *Run) Bytes() int { return len(r.data) + runRowBytes*len(r.rows) }

// Len is the number of rows that were added.
func (r *Run) Len() int { return len(r.rows) }

// Reset empties the run and keeps its memory.
func (r *Run) Reset() {
	r.data, r.rows, r.alike, r.others = r.data[:0], r.rows[:0], r.alike[:0], r.others[:0]
	r.sorted = false
}

// Sorted iterates over the rows in the order of their keys. A nil value is a deletion. Slices are valid until Reset.
func (r *Run) Sorted() iter.Seq2[[]byte, []byte] {
	key := func(id uint32) []byte { return r.key(r.rows[id]) }
	before := 0
	switch {
	case len(r.rows) < radix.Few:
		radix.By(r.alike, key)
	case r.sorted:
		r.split()
		fallthrough
	default:
		radix.ByHead(r.alike, key, len(r.prefix))
		radix.By(r.others, key)
		r.sorted = true
		before, _ = slices.BinarySearchFunc(r.others, r.prefix, func(o radix.Item, prefix []byte) int { return bytes.Compare(key(o.ID), prefix) })
	}
	return func(yield func(key, value []byte) bool) {
		_ = r.each(r.others[:before], yield) && r.each(r.alike, yield) && r.each(r.others[before:], yield)
	}
}

// ahead is how many rows are touched together: the processor waits for their memory side by side.
const ahead = 32

// each gives the rows of a sorted list, of each key the last.
func (r *Run) each(list []radix.Item, yield func(key, value []byte) bool) bool {
	var near [ahead + 1]runRow
	for len(list) > 0 {
		n := min(ahead, len(list))
		rows := near[:min(n+1, len(list))]
		r.touch(rows, list)
		for i, row := range rows[:n] {
			if i+1 < len(rows) && list[i].Head == list[i+1].Head && bytes.Equal(r.key(row), r.key(rows[i+1])) {
				continue // a later one follows
			}
			if !yield(r.key(row), r.value(row)) {
				return false
			}
		}
		list = list[n:]
	}
	return true
}

// touch finds the next rows of a list, and makes the processor load what belongs to them.
func (r *Run) touch(rows []runRow, list []radix.Item) {
	for i := range rows {
		rows[i] = r.rows[list[i].ID]
	}
	for _, row := range rows {
		if end := row.at + int(row.keyLen+max(0, row.valueLen)); end > row.at {
			r.seen += r.data[row.at] + r.data[end-1]
		}
	}
}

func (r *Run) value(row runRow) []byte {
	if row.valueLen < 0 {
		return nil
	}
	return r.data[row.at+int(row.keyLen):][:row.valueLen:row.valueLen]
}

func (r *Run) key(row runRow) []byte { return r.data[row.at:][:row.keyLen:row.keyLen] }
