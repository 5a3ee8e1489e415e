package stream

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// A buffered is a record that waits for matches. A value that is not plain is kept encoded: what a joiner gets is its own then, and a
// checkpoint has nothing left to encode.
type buffered[V any] struct {
	t       int64
	v       V
	raw     []byte
	matched bool // or emitted without a match
}

// A part is a row of a buffer: records of one key in one stretch of time, in the order of time. A stretch with many
// has several parts, so that rows stay small.
type part[V any] struct {
	parts   uint32 // how many the stretch has; in the first one only
	records []buffered[V]
}

// partRecords is how many records a part has at most.
const partRecords = 64

// A buffer is one side of a join. Rows lie by stretch, then part, then key: what is past is dropped by stretches, and looking for
// matches asks for one or two rows by name.
type buffer[V any] struct {
	store   *overlay.Store[part[V]]
	value   serde.Serde[V]
	plain   bool
	join    span.Join
	side    span.Side
	alone   bool    // records without a match are emitted
	stretch int64   // length of a stretch
	starts  []int64 // of stretches that have rows
	reached int     // how many of starts are in the heap
	heap    dueHeap // records without a match, in the stretches at hand; the bucket is the record's time
	last    int64   // start that was asked for last
	buf     []byte
}

// openBuffer opens one side of the node being made.
func openBuffer[V any](in *instance, side span.Side, key formatter, value serde.Serde[V], join span.Join, alone bool) *buffer[V] {
	b := &buffer[V]{value: value, plain: serde.Plain[V](), join: join, side: side, alone: alone, last: task.MinTime}
	b.stretch = join.Before + join.After + 1 // a record looks into two at most
	b.store = openStore(in, "join", in.node.Stores[side], joinKey{anyFormat{key}, join}, partSerde[V]{value, b.plain}, false, nil, false).Grouped(timeBytes).
		Behind(func(p part[V]) uint32 { return touchLast(p.records) })
	return b
}

const partAt, keyAt = 8, 12

// row is the key of a part.
func (b *buffer[V]) row(start int64, n uint32, key []byte) []byte {
	b.buf = append(binary.BigEndian.AppendUint32(keys.AppendTime(b.buf[:0], start), n), key...)
	return b.buf
}

// start is that of the stretch of a time.
func (b *buffer[V]) start(t int64) int64 { return t - ((t%b.stretch)+b.stretch)%b.stretch }

// add keeps a record.
func (b *buffer[V]) add(key []byte, r buffered[V]) {
	start := b.start(r.t)
	first := b.store.Entry(b.row(start, 0, key))
	p, n := first.Value, max(1, first.Value.parts)
	if !first.Found() {
		b.opened(start)
		p.parts = 1
	}
	e := first
	if n > 1 {
		e = b.store.Entry(b.row(start, n-1, key))
		p = e.Value
	}
	if len(p.records) >= partRecords {
		head := b.store.Entry(b.row(start, 0, key))
		h := head.Value
		h.parts = n + 1
		b.store.Set(head, h)
		e = b.store.Entry(b.row(start, n, key))
		p = part[V]{}
	}
	at := len(p.records)
	for at > 0 && p.records[at-1].t > r.t {
		at--
	}
	p.records = slices.Insert(p.records, at, r)
	b.store.Set(e, p)
	if b.alone && !r.matched && b.active(start) {
		heap.Push(&b.heap, due{b.join.Close(b.side, r.t), r.t, string(key)})
	}
}

// opened notes that a stretch has rows.
func (b *buffer[V]) opened(start int64) {
	if start == b.last {
		return
	}
	b.last = start
	i, there := slices.BinarySearch(b.starts, start)
	if there {
		return
	}
	b.starts = slices.Insert(b.starts, i, start)
	if i < b.reached {
		b.reached++
	}
}

// active reports whether a stretch is in the heap.
func (b *buffer[V]) active(start int64) bool {
	return b.reached > 0 && start <= b.starts[b.reached-1]
}

// each calls f for the records of a key that a record of the other side matches, in the order of time, then of arrival. f may mark them.
func (b *buffer[V]) each(key []byte, times span.Span, found []place) []place {
	for start := b.start(times.Start); start < times.End; start += b.stretch {
		if i, there := slices.BinarySearch(b.starts, start); !there {
			if i == len(b.starts) {
				break
			}
			start = b.starts[i] - b.stretch // the next stretch that anybody has a row in
			continue
		}
		from, parts := len(found), uint32(1)
		for n := uint32(0); n < parts; n++ {
			p, ok := b.store.Get(b.row(start, n, key))
			if !ok {
				break
			}
			if n == 0 {
				parts = max(1, p.parts)
			}
			for i := range p.records {
				if times.Contains(p.records[i].t) {
					found = append(found, place{start, p.records[i].t, n, int32(i)})
				}
			}
		}
		if parts > 1 {
			slices.SortStableFunc(found[from:], func(a, b place) int { return int(min(1, max(-1, a.t-b.t))) })
		}
	}
	return found
}

// A place is where a record is in a buffer.
type place struct {
	start, t int64
	part     uint32
	at       int32
}

// record is the record at a place, its value the caller's. mark notes that it has a match.
func (b *buffer[V]) record(key []byte, at place, mark bool) (v V, t int64) {
	if !mark {
		p, _ := b.store.Get(b.row(at.start, at.part, key))
		r := &p.records[at.at]
		return b.valueOf(r), r.t
	}
	e := b.store.Entry(b.row(at.start, at.part, key))
	r := &e.Value.records[at.at]
	if !r.matched {
		r.matched = true
		b.store.Set(e, e.Value)
	}
	return b.valueOf(r), r.t
}

func (b *buffer[V]) valueOf(r *buffered[V]) V {
	if b.plain {
		return r.v
	}
	v, err := b.value.Decode(r.raw)
	if err != nil {
		panic(task.Failure{Err: fmt.Errorf("a buffered value: %w", err)})
	}
	return v
}

// drop removes the stretches that nothing needs any more.
func (b *buffer[V]) drop(w int64) {
	for len(b.starts) > 0 && span.Closed(b.dropAt(), w) {
		if b.alone && b.reached == 0 {
			return // not before it was looked through
		}
		for row := range b.store.Keys(keys.AppendTime(nil, b.starts[0])) {
			b.store.Delete(row)
		}
		b.starts = b.starts[1:]
		b.reached = max(0, b.reached-1)
		b.last = task.MinTime
	}
}

// dropAt is the watermark at which the first stretch has served.
func (b *buffer[V]) dropAt() int64 { return b.join.Close(b.side, span.Add(b.starts[0], b.stretch-1)) }

// reachAt is the watermark at which the next stretch has to be looked through for records without a match.
func (b *buffer[V]) reachAt() (w int64, ok bool) {
	if !b.alone || b.reached == len(b.starts) {
		return 0, false
	}
	return b.join.Close(b.side, b.starts[b.reached]), true
}

// reach brings the next stretch into the heap.
func (b *buffer[V]) reach() {
	start := b.starts[b.reached]
	b.reached++
	for row := range b.store.Keys(keys.AppendTime(nil, start)) {
		p, _ := b.store.Get(row)
		for i := range p.records {
			if r := &p.records[i]; !r.matched {
				heap.Push(&b.heap, due{b.join.Close(b.side, r.t), r.t, string(row[keyAt:])})
			}
		}
	}
}

// firstAlone takes the first record without a match that is due up to w, if there is one, and marks it.
func (b *buffer[V]) firstAlone(w int64) (key []byte, v V, t int64, ok bool) {
	for {
		if at, more := b.reachAt(); more && at <= w && (len(b.heap) == 0 || at <= b.heap[0].at) {
			b.reach()
			continue
		}
		if len(b.heap) == 0 || b.heap[0].at > w {
			return nil, v, 0, false
		}
		first := heap.Pop(&b.heap).(due)
		key = []byte(first.key)
		if at, found := b.unmatched(key, first.bucket); found {
			v, t = b.record(key, at, true)
			return key, v, t, true
		}
	}
}

// unmatched finds a key's first record of a time that has no match.
func (b *buffer[V]) unmatched(key []byte, t int64) (at place, ok bool) {
	start, parts := b.start(t), uint32(1)
	for n := uint32(0); n < parts; n++ {
		p, ok := b.store.Get(b.row(start, n, key))
		if !ok {
			break
		}
		if n == 0 {
			parts = max(1, p.parts)
		}
		for i := range p.records {
			if r := &p.records[i]; r.t == t && !r.matched {
				return place{start, t, n, int32(i)}, true
			}
		}
	}
	return place{}, false
}

// dueAt is the watermark at which the buffer has something to do next.
func (b *buffer[V]) dueAt() int64 {
	at := int64(task.MaxTime)
	if len(b.starts) > 0 {
		at = b.dropAt()
	}
	return min(at, b.aloneAt())
}

// aloneAt is the watermark at which a record without a match may be due next.
func (b *buffer[V]) aloneAt() int64 {
	at := int64(task.MaxTime)
	if w, more := b.reachAt(); more {
		at = w
	}
	if len(b.heap) > 0 {
		at = min(at, b.heap[0].at)
	}
	return at
}

// resume finds the stretches that have rows, after a restart.
func (b *buffer[V]) resume() {
	for from := []byte(nil); ; {
		start, ok := b.after(from)
		if !ok {
			return
		}
		b.starts = append(b.starts, start)
		from = keys.End(keys.AppendTime(nil, start))
	}
}

func (b *buffer[V]) after(from []byte) (start int64, ok bool) {
	for row := range b.store.Range(from, nil) {
		start, _, err := keys.CutTime(row)
		if err != nil {
			panic(task.Failure{Err: err})
		}
		return start, true
	}
	return 0, false
}

// partSerde encodes parts.
type partSerde[V any] struct {
	value serde.Serde[V]
	plain bool
}

func (s partSerde[V]) Append(dst []byte, p part[V]) ([]byte, error) {
	out := binary.AppendUvarint(dst, uint64(p.parts))
	out = binary.AppendUvarint(out, uint64(len(p.records)))
	for i := range p.records {
		r := &p.records[i]
		out = binary.BigEndian.AppendUint64(out, uint64(r.t))
		flags := byte(0)
		if r.matched {
			flags = 1
		}
		at := len(out) + 1
		out = append(out, flags, 0, 0, 0, 0)
		if !s.plain {
			out = append(out, r.raw...)
		} else {
			var err error
			if out, err = s.value.Append(out, r.v); err != nil {
				return dst, err
			}
		}
		binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	}
	return out, nil
}

var errPart = errors.New("a join's buffer is cut short")

const recordHead = 8 + 1 + 4

func (s partSerde[V]) Decode(b []byte) (p part[V], err error) {
	parts, w := binary.Uvarint(b)
	if w <= 0 {
		return p, errPart
	}
	n, w2 := binary.Uvarint(b[w:])
	if w2 <= 0 || n > uint64(len(b))/recordHead {
		return p, errPart
	}
	b = b[w+w2:]
	p = part[V]{parts: uint32(parts), records: make([]buffered[V], n)}
	for i := range p.records {
		r := &p.records[i]
		if len(b) < recordHead {
			return p, errPart
		}
		r.t, r.matched = int64(binary.BigEndian.Uint64(b)), b[8] != 0
		size := binary.BigEndian.Uint32(b[9:])
		if b = b[recordHead:]; uint64(size) > uint64(len(b)) {
			return p, errPart
		}
		if s.plain {
			if r.v, err = s.value.Decode(b[:size]); err != nil {
				return p, err
			}
		} else {
			r.raw = append([]byte{}, b[:size]...)
		}
		b = b[size:]
	}
	return p, nil
}

func (s partSerde[V]) Format() string { return "part/1 " + s.value.Format() }
