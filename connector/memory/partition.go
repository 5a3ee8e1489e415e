package memory

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// A partition is a log of batches. Records are never changed once they are in it, so readers share them without copying; whatever
// removes records puts new batches in the place of old ones.
type partition struct {
	topic     *topic
	index     int32
	start     int64 // the first offset there is
	end       int64 // the next one: the high watermark, because an append is acknowledged at once
	batches   []*batch
	open      []*span // transactions whose marker is not written, by their first offset
	producers map[int64]*producer
	news      chan struct{} // closed at the next change; nil while nobody waits
}

// A batch is what was appended together: offsets from base to next, of which compaction may have left only some.
type batch struct {
	base, next int64
	records    []wire.Record
	span       *span // the transaction it belongs to, or nil
	marker     bool  // the end of a transaction: an offset without a record
	bytes      int
	maxTime    int64
	horizon    int64 // when tombstones in it may go, in ms; 0 before the first compaction
}

// A span is a transaction's part in one partition.
type span struct {
	id    string
	first int64
	state spanState
}

type spanState uint8

const (
	spanOpen spanState = iota
	spanCommitted
	spanAborted
)

// A producer is what a partition remembers of one, to recognise repeats.
type producer struct {
	epoch int16
	next  int32 // sequence number
	last  [5]sent
}

// sent is a batch that was accepted. A zero count is none.
type sent struct {
	seq, count int32
	base       int64
}

// maxBatch bounds how many records one batch holds, so that what a reader gets at once stays small.
const maxBatch = 1024

// stable is the last stable offset: nothing before it can still change.
func (p *partition) stable() int64 {
	if len(p.open) > 0 {
		return p.open[0].first
	}
	return p.end
}

// append adds records, which it takes over, and returns the offset of the first.
func (p *partition) append(records []wire.Record, s *span, now int64) (int64, error) {
	bytes, maxTime, err := p.check(records, now)
	if err != nil {
		return 0, err
	}
	base := p.end
	for i := range records {
		records[i].Offset = base + int64(i)
	}
	p.end += int64(len(records))
	if tail := p.tail(); tail != nil && tail.span == s && !tail.marker && tail.next == base && tail.horizon == 0 &&
		len(tail.records)+len(records) <= maxBatch && len(tail.records) > 0 {
		tail.records = append(tail.records, records...)
		tail.next = p.end
		tail.bytes += bytes
		tail.maxTime = max(tail.maxTime, maxTime)
	} else {
		p.batches = append(p.batches, &batch{base: base, next: p.end, records: records, span: s, bytes: bytes, maxTime: maxTime})
	}
	p.wake()
	return base, nil
}

func (p *partition) tail() *batch {
	if len(p.batches) == 0 {
		return nil
	}
	return p.batches[len(p.batches)-1]
}

// check applies the topic's rules, as Kafka does: one record that breaks them refuses the batch.
func (p *partition) check(records []wire.Record, now int64) (bytes int, maxTime int64, err error) {
	t := p.topic
	if t.deleted {
		return 0, 0, fmt.Errorf("topic %q was deleted: %w", t.name, wire.ErrNoTopic)
	}
	for i := range records {
		r := &records[i]
		if t.logTime {
			r.Time = now
		}
		size := recordSize(r)
		switch {
		case size > t.maxBytes-overhead:
			err = fmt.Errorf("%w: a record of %d bytes is larger than max.message.bytes=%d allows", wire.ErrRefused, size, t.maxBytes)
		case r.Time-now > t.maxAhead || now-r.Time > t.maxBehind && r.Time < now:
			err = fmt.Errorf("%w: timestamp %d at %d is out of the topic's limits", wire.ErrRefused, r.Time, now)
		case t.compact && r.Key == nil:
			err = fmt.Errorf("%w: a record without a key in a compacted topic", wire.ErrRefused)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("topic %s partition %d: %w", t.name, p.index, err)
		}
		bytes += size
		if i == 0 || r.Time > maxTime {
			maxTime = r.Time
		}
	}
	return bytes, maxTime, nil
}

// recordSize counts what a record's own bytes are.
func recordSize(r *wire.Record) int {
	n := len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return n
}

// produce appends what a producer sent, once: a repeat of one of the last five batches gets the answer that the first one got.
func (p *partition) produce(pid int64, epoch int16, seq int32, records []wire.Record, s *span, now int64) (int64, error) {
	if p.producers == nil {
		p.producers = map[int64]*producer{}
	}
	pr := p.producers[pid]
	if pr == nil || epoch > pr.epoch {
		pr = &producer{epoch: epoch}
		p.producers[pid] = pr
	}
	for _, l := range pr.last {
		if l.count > 0 && l.seq == seq && l.count == int32(len(records)) {
			return l.base, nil
		}
	}
	if epoch < pr.epoch || seq != pr.next {
		return 0, fmt.Errorf("sequence %d of producer %d epoch %d, expected %d of epoch %d", seq, pid, epoch, pr.next, pr.epoch)
	}
	base, err := p.append(records, s, now)
	if err != nil {
		return 0, err
	}
	copy(pr.last[1:], pr.last[:])
	pr.last[0] = sent{seq, int32(len(records)), base}
	pr.next += int32(len(records))
	return base, nil
}

// mark writes the end of a transaction.
func (p *partition) mark(s *span, state spanState, now int64) {
	s.state = state
	p.open = slices.DeleteFunc(p.open, func(o *span) bool { return o == s })
	p.batches = append(p.batches, &batch{base: p.end, next: p.end + 1, span: s, marker: true, maxTime: now})
	p.end++
	p.wake()
}

// begin opens a transaction's span at the end: the last stable offset stays there until the marker is written.
func (p *partition) begin(id string) *span {
	s := &span{id: id, first: p.end}
	p.open = append(p.open, s)
	return s
}

// find is the index of the first batch that reaches beyond an offset.
func (p *partition) find(offset int64) int {
	i, _ := slices.BinarySearchFunc(p.batches, offset, func(b *batch, o int64) int { return cmp.Compare(b.next, o+1) })
	return i
}

// read returns the records of the first batch at or after from that a reader may see, at most max bytes of them but at least one
// record, and where to go on. Batches without such records are passed.
func (p *partition) read(from int64, committed bool, max int) (records []wire.Record, next int64, bytes int) {
	limit := p.end
	if committed {
		limit = p.stable()
	}
	next = from
	for i := p.find(from); i < len(p.batches) && p.batches[i].base < limit; i++ {
		b := p.batches[i]
		if seen := b.visible(from, committed); len(seen) > 0 {
			if records != nil {
				return records, next, bytes
			}
			records, bytes = clip(seen, max)
			if len(records) < len(seen) {
				return records, records[len(records)-1].Offset + 1, bytes
			}
		}
		next = b.next
	}
	return records, next, bytes
}

// visible are a batch's records from an offset on, or none when its transaction hides them.
func (b *batch) visible(from int64, committed bool) []wire.Record {
	if b.marker || committed && b.span != nil && b.span.state != spanCommitted {
		return nil
	}
	if from <= b.base {
		return b.records
	}
	i, _ := slices.BinarySearchFunc(b.records, from, func(r wire.Record, o int64) int { return cmp.Compare(r.Offset, o) })
	return b.records[i:]
}

// clip cuts records to max bytes, but leaves one. Its result has no room, so that the log may go on in the same array.
func clip(records []wire.Record, max int) ([]wire.Record, int) {
	bytes := 0
	for i := range records {
		size := recordSize(&records[i])
		if i > 0 && bytes+size > max {
			return records[:i:i], bytes
		}
		bytes += size
	}
	return records[:len(records):len(records)], bytes
}

func (p *partition) wake() {
	if p.news != nil {
		close(p.news)
		p.news = nil
	}
}

func (p *partition) change() <-chan struct{} {
	if p.news == nil {
		p.news = make(chan struct{})
	}
	return p.news
}
