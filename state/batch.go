package state

import "iter"

// A Batch is what one checkpoint changed. The engine fills it; a backend reads it with DeletedRanges and Ops.
// The zero value is an empty batch. It is used by one goroutine at a time.
type Batch struct {
	data   []byte // keys and values of ops, one behind the other
	ops    []op
	parts  []part
	ranges []span
	bytes  int
}

// An op is one key written or, with valueLen below zero, deleted. Lengths alone place it in data.
type op struct{ keyLen, valueLen int32 }

// A part is a sequence that comes before ops[at].
type part struct {
	at  int
	ops iter.Seq2[[]byte, []byte]
}

type span struct{ from, to []byte }

// Ops iterates over the batch in order. A nil value deletes the key. Slices are valid until Apply returns.
func (b *Batch) Ops() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		data, parts := b.data, b.parts
		for i := 0; i <= len(b.ops); i++ {
			for ; len(parts) > 0 && parts[0].at == i; parts = parts[1:] {
				for k, v := range parts[0].ops {
					if !yield(k, v) {
						return
					}
				}
			}
			if i == len(b.ops) {
				return
			}
			var k, v []byte
			k, data = cut(data, b.ops[i].keyLen)
			if b.ops[i].valueLen >= 0 {
				v, data = cut(data, b.ops[i].valueLen)
			}
			if !yield(k, v) {
				return
			}
		}
	}
}

func cut(data []byte, n int32) (head, tail []byte) { return data[:n:n], data[n:] }

// DeletedRanges iterates over [from, to) ranges to delete before Ops are applied.
func (b *Batch) DeletedRanges() iter.Seq2[[]byte, []byte] {
	return func(yield func(from, to []byte) bool) {
		for _, r := range b.ranges {
			if !yield(r.from, r.to) {
				return
			}
		}
	}
}

// Put writes a key, for the engine. Both slices are copied; a nil value is an empty one.
func (b *Batch) Put(key, value []byte) {
	b.data = append(append(b.data, key...), value...)
	b.ops = append(b.ops, op{int32(len(key)), int32(len(value))})
	b.bytes += len(key) + len(value)
}

// Delete deletes a key, for the engine. The slice is copied.
func (b *Batch) Delete(key []byte) {
	b.data = append(b.data, key...)
	b.ops = append(b.ops, op{int32(len(key)), -1})
	b.bytes += len(key)
}

// DeleteRange deletes [from, to) before everything else of the batch, for the engine. Both are kept until Reset.
func (b *Batch) DeleteRange(from, to []byte) {
	b.ranges = append(b.ranges, span{from, to})
	b.bytes += len(from) + len(to)
}

// Append adds a sequence of ops without copying it, for the engine: it may be iterated until Reset.
// bytes is about the size of its keys and values.
func (b *Batch) Append(ops iter.Seq2[[]byte, []byte], bytes int) {
	b.parts = append(b.parts, part{len(b.ops), ops})
	b.bytes += bytes
}

// Bytes is about the size of the batch's keys and values.
func (b *Batch) Bytes() int { return b.bytes }

// Empty reports whether nothing was put into the batch.
func (b *Batch) Empty() bool { return len(b.ops)+len(b.parts)+len(b.ranges) == 0 }

// maxKeptBytes bounds what Reset keeps, so that one large checkpoint does not hold its memory for ever.
const maxKeptBytes = 8 << 20

// Reset empties the batch and keeps some of its memory for the next.
func (b *Batch) Reset() {
	clear(b.parts)
	clear(b.ranges)
	kept := Batch{data: b.data[:0], ops: b.ops[:0], parts: b.parts[:0], ranges: b.ranges[:0]}
	if cap(b.data) > maxKeptBytes {
		kept.data, kept.ops = nil, nil
	}
	*b = kept
}
