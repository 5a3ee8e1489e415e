package state

import (
	"bytes"
	"iter"
	"slices"

	"github.com/weirstream/weir/internal/radix"
)

// A Run collects rows in any order and gives them back sorted, of each key the last: what an [Ingester] takes of a changelog.
// The zero value is empty. For the engine; used by one goroutine at a time.
type Run struct {
	data []byte
	rows []runRow
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
	r.rows = append(r.rows, runRow{at: len(r.data), keyLen: int32(len(key)), valueLen: valueLen})
	r.data = append(append(r.data, key...), value...)
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
	order := radix.Order(len(r.rows), func(i uint32) []byte { return r.key(r.rows[i]) })
	return func(yield func(key, value []byte) bool) {
		for i, item := range order {
			row := r.rows[item.ID]
			if i+1 < len(order) && item.Head == order[i+1].Head && bytes.Equal(r.key(row), r.key(r.rows[order[i+1].ID])) {
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
