package kafka

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/weirstream/weir/internal/wire"
)

// recordSize is what a record takes in memory beside its bytes.
const recordSize = int(unsafe.Sizeof(wire.Record{}))

// records are reused: a batch's are given back by its Release.
var records = sync.Pool{New: func() any { return new([]wire.Record) }}

// unpack makes a batch of a partition's answer: the records from the asked offset on, without those of aborted transactions and without
// markers. nil is an answer without one whole batch. What came of an offset before the asked one, because batches come whole, is left out.
// inside reports whether the batch points into the answer.
func (d *dialer) unpack(w wish, answer *block) (b *wire.Batch, inside bool, err error) {
	next := w.from
	into := records.Get().(*[]wire.Record)
	list := (*into)[:0]
	var expanded []*buffer
	free := func() {
		putRecords(into, list)
		for _, in := range expanded {
			in.release()
		}
	}
	defer func() {
		if b == nil {
			free()
		}
	}()
	dropped := newAborted(w.how.Committed, answer.aborted)
	for rest := answer.records; len(rest) > 0; {
		rb, after, whole, err := splitBatch(rest)
		if err != nil {
			return nil, false, err
		}
		if !whole {
			break
		}
		rest = after
		next = max(next, rb.last+1)
		if dropped.drops(&rb) {
			continue
		}
		plain, in, err := d.codecs.expand(&d.buffers, rb.compression(), rb.records, expandMost)
		if err != nil {
			return nil, false, fmt.Errorf("the batch at offset %d: %w", rb.first, err)
		}
		if in != nil {
			expanded = append(expanded, in)
		}
		inside = inside || in == nil
		list = slices.Grow(list, min(max(rb.count, 0), len(plain)/leastRecord+1))
		if list, err = rb.appendTo(list, plain, w.from, w.how.Headers); err != nil {
			return nil, false, err
		}
	}
	if next == w.from {
		return nil, false, nil
	}
	b = &wire.Batch{TopicPartition: w.at, Records: list, Next: next, High: answer.high, Stable: answer.stable}
	for i := range list {
		b.Bytes += len(list[i].Key) + len(list[i].Value)
	}
	b.Bytes += recordSize * len(list)
	b.Free = func() {
		free()
		b.Records = nil
	}
	return b, inside && len(list) > 0, nil
}

// putRecords gives a list back, without what it points to, or the pool would keep the memory of answers.
func putRecords(into *[]wire.Record, list []wire.Record) {
	clear(list)
	*into = list[:0]
	records.Put(into)
}

// detach copies a batch's bytes out of the answer that it came in. One slow partition would otherwise keep the memory of a whole
// answer, which counts against nobody's budget.
func detach(b *wire.Batch) {
	all := make([]byte, 0, b.Bytes-recordSize*len(b.Records)+headerBytes(b.Records))
	keep := func(v []byte) []byte {
		if v == nil {
			return nil
		}
		start := len(all)
		all = append(all, v...)
		return all[start:len(all):len(all)]
	}
	for i := range b.Records {
		r := &b.Records[i]
		r.Key, r.Value = keep(r.Key), keep(r.Value)
		for j := range r.Headers {
			r.Headers[j].Value = keep(r.Headers[j].Value)
		}
	}
}

func headerBytes(list []wire.Record) (n int) {
	for i := range list {
		for _, h := range list[i].Headers {
			n += len(h.Value)
		}
	}
	return n
}

// aborted knows, while it is led through the batches of an answer in order, which producers' transactions were aborted.
type aborted struct {
	ahead []abortedTx    // by first offset
	now   map[int64]bool // producer ids within an aborted transaction
}

func newAborted(committed bool, list []abortedTx) aborted {
	if !committed || len(list) == 0 {
		return aborted{}
	}
	slices.SortFunc(list, func(a, b abortedTx) int { return cmp.Compare(a.first, b.first) })
	return aborted{ahead: list, now: make(map[int64]bool)}
}

// drops reports whether a batch is not to be seen: a marker, or part of an aborted transaction.
func (a *aborted) drops(rb *recordBatch) bool {
	for len(a.ahead) > 0 && a.ahead[0].first <= rb.last {
		a.now[a.ahead[0].producer] = true
		a.ahead = a.ahead[1:]
	}
	if rb.has(attrControl) {
		if a.now != nil && rb.isAbort() {
			delete(a.now, rb.producer)
		}
		return true
	}
	return rb.has(attrTransactional) && a.now[rb.producer]
}

// isAbort reports whether a marker ends its transaction by an abort: its key is a version and a type, 0 for an abort.
func (rb *recordBatch) isAbort() bool {
	marker, err := rb.appendTo(nil, rb.records, rb.first, false)
	return err == nil && len(marker) > 0 && len(marker[0].Key) >= 4 && binary.BigEndian.Uint16(marker[0].Key[2:]) == 0
}

// isCut reports whether an answer has the beginning of a batch and not its end. One with nothing at all had no room left for the partition.
func (b *block) isCut() bool {
	for rest := b.records; len(rest) > 0; {
		_, after, whole, err := splitBatch(rest)
		if err != nil || !whole {
			return true
		}
		rest = after
	}
	return false
}
