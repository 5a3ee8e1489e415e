package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
)

// A Run collects rows in any order and gives them back sorted, of each key the last: what an [Ingester] takes of a changelog.
// The zero value is empty. For the engine; used by one goroutine at a time.
type Run struct {
	data []byte
	rows []runRow
}

type runRow struct {
	head             uint64 // eight of the key's bytes, behind what the keys that it is sorted among begin with
	at               int
	keyLen, valueLen int32 // valueLen below zero: deleted
}

const runRowBytes = 24

// Put adds a row, a copy of it. A nil value is an empty one.
func (r *Run) Put(key, value []byte) { r.add(key, value, int32(len(value))) }

// Delete adds a deletion.
func (r *Run) Delete(key []byte) { r.add(key, nil, -1) }

func (r *Run) add(key, value []byte, valueLen int32) {
	r.rows = append(r.rows, runRow{at: len(r.data), keyLen: int32(len(key)), valueLen: valueLen})
	r.data = append(append(r.data, key...), value...)
	if len(key)+len(value) == 0 {
		r.data = append(r.data, 0) // no two rows begin at the same byte: that is how the later one is known
	}
}

// Grow makes room for more rows that have so many bytes of keys and values each, so that adding them does not copy what is there. It takes no more
// than most bytes of memory for them.
func (r *Run) Grow(rows, each, most int) {
	rows = min(rows, most/(each+runRowBytes))
	r.rows = slices.Grow(r.rows, rows)
	r.data = slices.Grow(r.data, rows*each)
}

// Bytes is the memory that the rows take.
func (r *Run) Bytes() int { return len(r.data) + runRowBytes*len(r.rows) }

// Len is the number of rows that were added.
func (r *Run) Len() int { return len(r.rows) }

// Reset empties the run and keeps its memory.
func (r *Run) Reset() { r.data, r.rows = r.data[:0], r.rows[:0] }

// Sorted iterates over the rows in the order of their keys. A nil value is a deletion. Slices are valid until Reset.
func (r *Run) Sorted() iter.Seq2[[]byte, []byte] {
	r.sort()
	return func(yield func(key, value []byte) bool) {
		for i, row := range r.rows {
			if i+1 < len(r.rows) && row.head == r.rows[i+1].head && bytes.Equal(r.key(row), r.key(r.rows[i+1])) {
				continue // a later one follows
			}
			var value []byte
			if row.valueLen >= 0 {
				value = r.data[row.at+int(row.keyLen):][:row.valueLen:row.valueLen]
			}
			if !yield(r.key(row), value) {
				return
			}
		}
	}
}

func (r *Run) key(row runRow) []byte { return r.data[row.at:][:row.keyLen:row.keyLen] }

// sort orders by key, then by when a row was added.
func (r *Run) sort() { r.sortBehind(r.rows, 0) }

// few is below how many rows comparing their keys is cheaper than looking for what they have in common.
const few = 16

// sortBehind sorts rows whose keys have their first skip bytes in common. It compares eight bytes at a time, which lie in the rows themselves, so that most
// comparisons fetch no key; rows that are equal there are sorted by what follows. One key that is unlike the others, as
// the store's own record is, costs one round more.
func (r *Run) sortBehind(rows []runRow, skip int) {
	skip += r.common(rows, skip)
	for i := range rows {
		rows[i].head = head(r.key(rows[i])[skip:])
	}
	slices.SortFunc(rows, func(a, b runRow) int { return cmp.Compare(a.head, b.head) })
	for len(rows) > 1 {
		n := 1
		for n < len(rows) && rows[n].head == rows[0].head {
			n++
		}
		if n > 1 {
			r.sortEqual(rows[:n], skip+8)
		}
		rows = rows[n:]
	}
}

// sortEqual sorts rows whose keys have their first skip bytes in common, but for zeros at the end of the shorter ones.
func (r *Run) sortEqual(rows []runRow, skip int) {
	if len(rows) < few {
		slices.SortFunc(rows, func(a, b runRow) int { return cmp.Or(bytes.Compare(r.key(a), r.key(b)), cmp.Compare(a.at, b.at)) })
		return
	}
	short := 0
	for i, row := range rows {
		if int(row.keyLen) <= skip {
			rows[i], rows[short] = rows[short], row
			short++
		}
	}
	slices.SortFunc(rows[:short], func(a, b runRow) int { return cmp.Or(cmp.Compare(a.keyLen, b.keyLen), cmp.Compare(a.at, b.at)) })
	if short < len(rows) {
		r.sortBehind(rows[short:], skip)
	}
}

// common is how many bytes behind skip the keys of rows have in common.
func (r *Run) common(rows []runRow, skip int) int {
	if len(rows) == 0 {
		return 0
	}
	first := r.key(rows[0])[skip:]
	n := len(first)
	for _, row := range rows[1:] {
		key := r.key(row)[skip:]
		n = min(n, len(key))
		for !bytes.Equal(first[:n], key[:n]) {
			n--
		}
	}
	return n
}

// head is the first eight bytes of key as a number, zeros behind a shorter one.
func head(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}
