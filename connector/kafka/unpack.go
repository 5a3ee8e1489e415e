package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// recordSize is what a record takes in memory beside its bytes.
const recordSize = int(unsafe.Sizeof(wire.Record{}))

var errOldFormat = errors.New("the partition holds message sets of format 0 or 1, which brokers older than 0.11 wrote; only format 2 is read")

// records are reused: a batch's are given back by its Release.
var records = sync.Pool{New: func() any { return new([]wire.Record) }}

// unpack makes a batch of a partition's answer: the records from the asked offset on, without those of aborted transactions and without
// markers. nil is an answer without one whole batch. What came of an offset before the asked one, because batches come whole, is left out.
func unpack(at wire.TopicPartition, from int64, how wire.ReadOptions, block *sarama.FetchResponseBlock) (*wire.Batch, error) {
	next := from
	n := 0
	for _, set := range block.RecordsSet {
		if set.RecordBatch == nil {
			return nil, errOldFormat
		}
		if !set.RecordBatch.PartialTrailingRecord {
			n += len(set.RecordBatch.Records)
			next = max(next, set.RecordBatch.LastOffset()+1)
		}
	}
	if n == 0 {
		next = max(next, emptyEnd(block))
		if next == from {
			return nil, nil
		}
	}
	b := &wire.Batch{TopicPartition: at, Next: next, High: block.HighWaterMarkOffset, Stable: block.LastStableOffset}
	into := records.Get().(*[]wire.Record)
	list := slices.Grow((*into)[:0], n)
	dropped := newAborted(how.Committed, block.AbortedTransactions)
	for _, set := range block.RecordsSet {
		rb := set.RecordBatch
		if rb.PartialTrailingRecord || dropped.drops(rb) {
			continue
		}
		var err error
		if list, err = appendRecords(list, from, how.Headers, rb); err != nil {
			return nil, err
		}
	}
	b.Records = list
	for i := range list {
		b.Bytes += len(list[i].Key) + len(list[i].Value)
	}
	b.Bytes += recordSize * len(list)
	b.Free = func() {
		clear(list) // or the pool would keep the answer's memory
		*into = list[:0]
		records.Put(into)
		b.Records = nil
	}
	return b, nil
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

func appendRecords(list []wire.Record, from int64, headers bool, rb *sarama.RecordBatch) ([]wire.Record, error) {
	base, appendTime := int64(-1), int64(-1)
	if !rb.FirstTimestamp.IsZero() {
		base = rb.FirstTimestamp.UnixMilli()
	}
	if rb.LogAppendTime {
		appendTime = rb.MaxTimestamp.UnixMilli()
	}
	for _, r := range rb.Records {
		offset := rb.FirstOffset + r.OffsetDelta
		if offset < from {
			continue
		}
		if offset > rb.LastOffset() {
			return nil, fmt.Errorf("the batch at offset %d claims to end at %d and has a record of offset %d", rb.FirstOffset, rb.LastOffset(), offset)
		}
		record := wire.Record{Offset: offset, Time: appendTime, Key: r.Key, Value: r.Value}
		if !rb.LogAppendTime {
			record.Time = base + r.TimestampDelta.Milliseconds()
		}
		if headers && len(r.Headers) > 0 {
			record.Headers = make([]wire.Header, len(r.Headers))
			for i, h := range r.Headers {
				record.Headers[i] = wire.Header{Key: string(h.Key), Value: h.Value}
			}
		}
		list = append(list, record)
	}
	return list, nil
}

// aborted knows, while it is led through the batches of an answer in order, which producers' transactions were aborted.
type aborted struct {
	ahead []*sarama.AbortedTransaction // by first offset
	now   map[int64]bool               // producer ids within an aborted transaction
}

func newAborted(committed bool, list []*sarama.AbortedTransaction) *aborted {
	if !committed || len(list) == 0 {
		return &aborted{}
	}
	slices.SortFunc(list, func(a, b *sarama.AbortedTransaction) int { return int(min(max(a.FirstOffset-b.FirstOffset, -1), 1)) })
	return &aborted{ahead: list, now: make(map[int64]bool)}
}

// drops reports whether a batch is not to be seen: a marker, or part of an aborted transaction.
func (a *aborted) drops(rb *sarama.RecordBatch) bool {
	for len(a.ahead) > 0 && a.ahead[0].FirstOffset <= rb.LastOffset() {
		a.now[a.ahead[0].ProducerID] = true
		a.ahead = a.ahead[1:]
	}
	if rb.Control {
		if isAbort(rb) {
			delete(a.now, rb.ProducerID)
		}
		return true
	}
	return rb.IsTransactional && a.now[rb.ProducerID]
}

// isAbort reports whether a marker ends its transaction by an abort: its key is a version and a type, 0 for an abort.
func isAbort(rb *sarama.RecordBatch) bool {
	return len(rb.Records) > 0 && len(rb.Records[0].Key) >= 4 && binary.BigEndian.Uint16(rb.Records[0].Key[2:]) == 0
}

// isCut reports whether an answer has the beginning of a batch and not its end. One with nothing at all had no room left for the partition.
func isCut(block *sarama.FetchResponseBlock) bool {
	return block.Partial || slices.ContainsFunc(block.RecordsSet, func(set *sarama.Records) bool {
		return set.RecordBatch != nil && set.RecordBatch.PartialTrailingRecord
	})
}

// emptyEnd is the offset after an answer that holds nothing but batches without records: the cleaner leaves them to remember a
// producer's last sequence. sarama drops them from the answer and keeps where they ended to itself; without it a reader that meets them
// at the end of a partition would ask for them for ever. It is read, not written, and a test fails if sarama renames it.
func emptyEnd(block *sarama.FetchResponseBlock) int64 {
	v := reflect.ValueOf(block).Elem().FieldByName("recordsNextOffset")
	if !v.IsValid() || v.Kind() != reflect.Pointer || v.IsNil() {
		return -1
	}
	return v.Elem().Int()
}
