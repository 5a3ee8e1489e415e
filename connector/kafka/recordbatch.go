package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/weirstream/weir/internal/wire"
)

// A record batch, format 2: offset of the first record (8 bytes), length of what follows (4), the leader's epoch (4), the format (1), a
// checksum (4) of all behind it, attributes (2), the last record's offset less the first's (4), the first and the greatest time (8 each),
// producer id (8), epoch (2), first sequence number (4), how many records (4), and the records, compressed or not.
const (
	batchHead     = 61
	batchLengthAt = 8
	batchFormatAt = 16
	batchSumAt    = 17
	batchSummed   = 21

	attrCodec         = 0x07
	attrAppendTime    = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A recordBatch is the head of one, and its records as they came.
type recordBatch struct {
	first, last   int64 // offsets
	attributes    int16
	time, maxTime int64
	producer      int64
	count         int
	records       []byte
}

var (
	errOldFormat = errors.New("the partition holds message sets of format 0 or 1, which brokers older than 0.11 wrote; only format 2 is read")
	errChecksum  = errors.New("the batch's checksum does not match its content")
	errBroken    = errors.New("the batch's content is not made of records")
)

// splitBatch takes the first batch off. whole is false when b ends within it: brokers cut what does not fit.
func splitBatch(b []byte) (rb recordBatch, rest []byte, whole bool, err error) {
	if len(b) <= batchFormatAt {
		return rb, nil, false, nil
	}
	if b[batchFormatAt] < 2 {
		return rb, nil, false, errOldFormat
	}
	size := int64(int32(binary.BigEndian.Uint32(b[batchLengthAt:]))) + batchLengthAt + 4
	if size < batchHead {
		return rb, nil, false, errBroken
	}
	if size > int64(len(b)) {
		return rb, nil, false, nil
	}
	b, rest = b[:size], b[size:]
	rb = recordBatch{
		first:      int64(binary.BigEndian.Uint64(b)),
		attributes: int16(binary.BigEndian.Uint16(b[21:])),
		time:       int64(binary.BigEndian.Uint64(b[27:])),
		maxTime:    int64(binary.BigEndian.Uint64(b[35:])),
		producer:   int64(binary.BigEndian.Uint64(b[43:])),
		count:      int(int32(binary.BigEndian.Uint32(b[57:]))),
		records:    b[batchHead:],
	}
	rb.last = rb.first + int64(int32(binary.BigEndian.Uint32(b[23:])))
	if crc32.Checksum(b[batchSummed:], castagnoli) != binary.BigEndian.Uint32(b[batchSumAt:]) {
		return rb, nil, true, fmt.Errorf("the batch at offset %d: %w", rb.first, errChecksum)
	}
	return rb, rest, true, nil
}

func (rb *recordBatch) has(attribute int16) bool { return rb.attributes&attribute != 0 }
func (rb *recordBatch) compression() wire.Compression {
	return wire.Compression(rb.attributes & attrCodec)
}

// leastRecord is the size of a record with nothing in it.
const leastRecord = 7

// appendTo appends the records from an offset on. plain are the batch's records, decompressed; keys and values point into it.
func (rb *recordBatch) appendTo(list []wire.Record, plain []byte, from int64, headers bool) ([]wire.Record, error) {
	base := max(rb.time, -1)
	for n := range rb.count {
		size, i := varint(plain, 0)
		if size < leastRecord-1 || int64(len(plain)-i) < size {
			return nil, fmt.Errorf("the batch at offset %d: record %d of %d: %w", rb.first, n+1, rb.count, errBroken)
		}
		b := plain[i : i+int(size)]
		plain = plain[i+int(size):]
		since, i := varint(b, 1) // attributes are not used
		delta, i := varint(b, i)
		key, i := sized(b, i)
		value, i := sized(b, i)
		if i > len(b) {
			return nil, fmt.Errorf("the batch at offset %d: record %d of %d: %w", rb.first, n+1, rb.count, errBroken)
		}
		offset := rb.first + delta
		if offset < from {
			continue
		}
		if offset > rb.last {
			return nil, fmt.Errorf("the batch at offset %d claims to end at %d and has a record of offset %d", rb.first, rb.last, offset)
		}
		r := wire.Record{Offset: offset, Time: base + since, Key: key, Value: value}
		if rb.has(attrAppendTime) {
			r.Time = rb.maxTime
		}
		if headers {
			var err error
			if r.Headers, err = headersOf(b, i); err != nil {
				return nil, fmt.Errorf("the batch at offset %d: headers of record %d of %d: %w", rb.first, n+1, rb.count, err)
			}
		}
		list = append(list, r)
	}
	return list, nil
}

func headersOf(b []byte, i int) ([]wire.Header, error) {
	n, i := varint(b, i)
	if n < 0 || n > int64(len(b)) {
		return nil, errBroken
	}
	if n == 0 {
		return nil, nil
	}
	list := make([]wire.Header, n)
	for j := range list {
		var key, value []byte
		key, i = sized(b, i)
		value, i = sized(b, i)
		if i > len(b) {
			return nil, errBroken
		}
		list[j] = wire.Header{Key: string(key), Value: value}
	}
	return list, nil
}

// varint reads a number at i and returns where the next begins: behind the end of b when there is none.
func varint(b []byte, i int) (v int64, next int) {
	if i < len(b) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	return longVarint(b, i)
}

func longVarint(b []byte, i int) (v int64, next int) {
	if i+1 < len(b) && b[i+1] < 0x80 {
		u := uint64(b[i]&0x7f) | uint64(b[i+1])<<7
		return int64(u>>1) ^ -int64(u&1), i + 2
	}
	if i < len(b) {
		if v, n := binary.Varint(b[i:]); n > 0 {
			return v, i + n
		}
	}
	return 0, len(b) + 1
}

// sized reads bytes with their length before them; nil is null.
func sized(b []byte, i int) (v []byte, next int) {
	n, i := varint(b, i)
	switch {
	case n < 0:
		return nil, i
	case i > len(b) || n > int64(len(b)-i):
		return nil, len(b) + 1
	}
	end := i + int(n)
	return b[i:end:end], end
}
