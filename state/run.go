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
	head             uint64 // the key's bytes behind what all keys begin with
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

// sort orders by key, then by when a row was added. Most comparisons end at eight bytes behind the common beginning, which
// lie in the rows themselves.
func (r *Run) sort() {
	skip := r.common()
	for i := range r.rows {
		r.rows[i].head = head(r.key(r.rows[i])[skip:])
	}
	slices.SortFunc(r.rows, func(a, b runRow) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return cmp.Or(bytes.Compare(r.key(a), r.key(b)), cmp.Compare(a.at, b.at))
	})
}

// common is the number of bytes that all keys begin with.
func (r *Run) common() int {
	if len(r.rows) == 0 {
		return 0
	}
	first := r.key(r.rows[0])
	n := len(first)
	for _, row := range r.rows[1:] {
		key := r.key(row)
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
