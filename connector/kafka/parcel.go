package kafka

import (
	"time"
	"unsafe"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

const (
	// recordOverhead is the most that a record takes in a batch beside its key, value and headers, and headerOverhead what a header does.
	recordOverhead = 36
	headerOverhead = 10
	// batchOverhead is a batch's own head.
	batchOverhead = 61
	// timeSpan is how far apart in milliseconds the times of a batch's records may be: sarama counts them in nanoseconds.
	timeSpan = 1 << 42
)

// A parcel is a batch of records of one checkpoint on their way to one partition. Its lane's lock guards it until it is sealed;
// then whoever sends it has it. Parcels are used again, with the memory they grew.
type parcel struct {
	lane    *lane
	n       uint64 // the checkpoint it belongs to
	bytes   int    // of its encoding, at most
	due     bool   // it is old enough to go
	closes  time.Time
	counted int64 // of its memory, in the writer's account

	first, last int64 // the lowest and highest time, first not below zero
	records     []*sarama.Record
	heads       slab[sarama.Record]
	data        slab[byte]

	sequence int32 // assigned when it first leaves, and kept when it is sent again: the broker tells a repetition by it
	batch    *sarama.RecordBatch
}

// put copies a record in.
func (p *parcel) put(at int64, key, value []byte, headers []wire.Header) {
	if len(p.records) == 0 {
		p.first, p.last = max(at, 0), at
	}
	p.last = max(p.last, at)
	r := &p.heads.take(1)[0]
	*r = sarama.Record{
		TimestampDelta: time.Duration(at-p.first) * time.Millisecond,
		OffsetDelta:    int64(len(p.records)),
		Key:            p.keep(key),
		Value:          p.keep(value),
	}
	if len(headers) > 0 {
		r.Headers = p.keepHeaders(headers)
	}
	p.records = append(p.records, r)
}

// keep copies bytes, and keeps the difference between nothing and null.
func (p *parcel) keep(b []byte) []byte {
	if b == nil {
		return nil
	}
	to := p.data.take(len(b))
	copy(to, b)
	return to
}

func (p *parcel) keepHeaders(headers []wire.Header) []*sarama.RecordHeader {
	list := make([]sarama.RecordHeader, len(headers))
	out := make([]*sarama.RecordHeader, len(headers))
	for i, h := range headers {
		list[i] = sarama.RecordHeader{Key: []byte(h.Key), Value: p.keep(h.Value)}
		out[i] = &list[i]
	}
	return out
}

// fits reports whether one more record of this size and time belongs into the parcel.
func (p *parcel) fits(size, most int, at int64) bool {
	return len(p.records) == 0 || p.bytes+size <= most && at-p.first < timeSpan && p.first-at < timeSpan
}

// toBatch is the parcel as sarama encodes it. The encoding is kept in it for the next try.
func (p *parcel) toBatch(codec sarama.CompressionCodec, id producer, transactional bool) *sarama.RecordBatch {
	if p.batch == nil {
		p.batch = &sarama.RecordBatch{
			Version:          2,
			Codec:            codec,
			CompressionLevel: sarama.CompressionLevelDefault,
			LastOffsetDelta:  int32(len(p.records) - 1),
			FirstTimestamp:   time.UnixMilli(p.first),
			MaxTimestamp:     time.UnixMilli(max(p.last, p.first)),
			ProducerID:       id.id,
			ProducerEpoch:    id.epoch,
			FirstSequence:    p.sequence,
			Records:          p.records,
			IsTransactional:  transactional,
		}
	}
	return p.batch
}

// memory is what the parcel holds, whatever of it is in use.
func (p *parcel) memory() int64 {
	return int64(p.heads.size)*int64(unsafe.Sizeof(sarama.Record{})+8) + int64(p.data.size)
}

// empty makes it ready for other records.
func (p *parcel) empty() {
	clear(p.records)
	heads, data, records := p.heads, p.data, p.records[:0]
	heads.reset()
	data.reset()
	*p = parcel{heads: heads, data: data, records: records}
}

// A slab hands out pieces of memory that stay where they are while it grows. Its chunks double in size and are kept by reset.
type slab[T any] struct {
	chunks [][]T
	at     int // the chunk in use
	used   int // of it
	size   int // of all
}

const slabFirst = 32

func (s *slab[T]) take(n int) []T {
	for {
		if s.at < len(s.chunks) {
			if c := s.chunks[s.at]; s.used+n <= len(c) {
				s.used += n
				return c[s.used-n : s.used : s.used]
			}
			s.at++
			s.used = 0
			continue
		}
		c := make([]T, max(n, s.size, slabFirst))
		s.chunks = append(s.chunks, c)
		s.size += len(c)
	}
}

func (s *slab[T]) reset() {
	// One chunk of the whole size serves the next time better than many small ones.
	if len(s.chunks) > 1 {
		s.chunks = [][]T{make([]T, s.size)}
	}
	s.at, s.used = 0, 0
}
