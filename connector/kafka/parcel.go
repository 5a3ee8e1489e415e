package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

const (
	// recordOverhead is the most that a record takes in a batch beside its key, value and headers, and headerOverhead what a header does.
	recordOverhead = 36
	headerOverhead = 10
	// timeSpan is how far apart in milliseconds the times of a batch's records may be.
	timeSpan = 1 << 42
)

// A parcel is a batch of records of one checkpoint on their way to one partition, encoded as it will leave. Its lane's lock guards it
// until it is sealed; then whoever sends it has it. Parcels are used again, with the memory they grew.
type parcel struct {
	lane    *lane
	n       uint64 // the checkpoint it belongs to
	due     bool   // it is old enough to go
	closes  time.Time
	counted int64 // of its memory, in the writer's account

	first, last int64 // the lowest and highest time, first not below zero
	records     int32
	data        []byte // the head, empty until the parcel leaves, and the records
	packed      []byte // the same compressed

	sequence int32  // assigned when it first leaves, and kept when it is sent again: the broker tells a repetition by it
	batch    []byte // what is sent; nil before the parcel leaves
}

// put encodes a record.
func (p *parcel) put(at int64, key, value []byte, headers []wire.Header) {
	if p.records == 0 {
		p.first, p.last = max(at, 0), at
		p.data = append(p.data[:0], make([]byte, batchHead)...)
	}
	p.last = max(p.last, at)
	since, n := at-p.first, int64(p.records)
	size := 1 + varintSize(since) + varintSize(n) + sizedSize(key) + sizedSize(value) + varintSize(int64(len(headers)))
	for _, h := range headers {
		size += varintSize(int64(len(h.Key))) + len(h.Key) + sizedSize(h.Value)
	}
	b := appendVarint(slices.Grow(p.data, size+binary.MaxVarintLen32), int64(size))
	b = append(b, 0) // attributes
	b = appendVarint(b, since)
	b = appendVarint(b, n)
	b = appendSized(b, key)
	b = appendSized(b, value)
	if len(headers) == 0 {
		b = append(b, 0)
	} else {
		b = appendHeaders(b, headers)
	}
	p.data = b
	p.records++
}

func appendHeaders(b []byte, headers []wire.Header) []byte {
	b = appendVarint(b, int64(len(headers)))
	for _, h := range headers {
		b = append(appendVarint(b, int64(len(h.Key))), h.Key...)
		b = appendSized(b, h.Value)
	}
	return b
}

// appendSized appends bytes with their length before them; null has -1.
func appendSized(b, v []byte) []byte {
	if v == nil {
		return append(b, 1)
	}
	return append(appendVarint(b, int64(len(v))), v...)
}

func sizedSize(v []byte) int { return varintSize(int64(len(v))) + len(v) }

// fits reports whether one more record of this size and time belongs into the parcel.
func (p *parcel) fits(size, most int, at int64) bool {
	return p.records == 0 || len(p.data)+size <= most && at-p.first < timeSpan && p.first-at < timeSpan
}

// pack makes the batch that is sent, once: it is the same for every try.
func (p *parcel) pack(how wire.Compression, c *codecs, id producer, transactional bool) error {
	b := p.data
	if how != wire.None {
		body, err := c.shrink(how, p.data[batchHead:])
		if err != nil {
			return err
		}
		p.packed = append(append(p.packed[:0], make([]byte, batchHead)...), body...)
		b = p.packed
	}
	attributes := uint16(how)
	if transactional {
		attributes |= attrTransactional
	}
	binary.BigEndian.PutUint32(b[batchLengthAt:], uint32(len(b)-batchLengthAt-4))
	b[batchFormatAt] = 2
	binary.BigEndian.PutUint16(b[21:], attributes)
	binary.BigEndian.PutUint32(b[23:], uint32(p.records-1))
	binary.BigEndian.PutUint64(b[27:], uint64(p.first))
	binary.BigEndian.PutUint64(b[35:], uint64(max(p.last, p.first)))
	binary.BigEndian.PutUint64(b[43:], uint64(id.id))
	binary.BigEndian.PutUint16(b[51:], uint16(id.epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(p.sequence))
	binary.BigEndian.PutUint32(b[57:], uint32(p.records))
	binary.BigEndian.PutUint32(b[batchSumAt:], crc32.Checksum(b[batchSummed:], castagnoli))
	p.batch = b
	return nil
}

// memory is what the parcel holds, whatever of it is in use.
func (p *parcel) memory() int64 { return int64(cap(p.data) + cap(p.packed)) }

// empty makes it ready for other records.
func (p *parcel) empty() { *p = parcel{data: p.data[:0], packed: p.packed[:0]} }
