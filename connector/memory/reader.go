package memory

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// defaultReadBytes is ReadOptions.MaxBytes when it is not set.
const defaultReadBytes = 1 << 20

// A reader reads one partition. Its batches share the log's records.
type reader struct {
	cn   *conn
	p    *partition
	at   wire.TopicPartition
	how  wire.ReadOptions
	next int64
	told struct{ next, high, stable int64 } // in the last batch

	held  atomic.Int64  // bytes of batches that are not released
	freed chan struct{} // told when some are
}

// Read is described at wire.Log.
func (cn *conn) Read(ctx context.Context, at wire.TopicPartition, from int64, how wire.ReadOptions) (wire.Reader, error) {
	if how.MaxBytes <= 0 {
		how.MaxBytes = defaultReadBytes
	}
	p, err := ask(ctx, cn, faults.Request{Kind: faults.Metadata, Topic: at.Topic, Partition: at.Partition}, func(b *broker) (*partition, error) {
		return b.partition(at)
	})
	if err != nil {
		return nil, err
	}
	r := &reader{cn: cn, p: p, at: at, how: how, next: from, freed: make(chan struct{}, 1)}
	r.told.next = -1
	return r, nil
}

// Next is described at wire.Reader.
func (r *reader) Next(ctx context.Context) (*wire.Batch, error) {
	for {
		if r.held.Load() >= int64(r.how.MaxBytes) {
			if err := wait(ctx, r.freed); err != nil {
				return nil, err
			}
			continue
		}
		batch, change, err := r.poll()
		if batch != nil || err != nil {
			return batch, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := wait(ctx, change); err != nil {
			return nil, err
		}
	}
}

// poll returns a batch when there are records or news, and otherwise what to wait for.
func (r *reader) poll() (batch *wire.Batch, change <-chan struct{}, err error) {
	q := faults.Request{Kind: faults.Fetch, Topic: r.at.Topic, Partition: r.at.Partition}
	b := r.cn.enter(q)
	defer r.cn.c.leave()
	err = b.request(r.cn, q, func(bool) error {
		switch {
		case r.p.topic.deleted:
			return fmt.Errorf("topic %q was deleted: %w", r.at.Topic, wire.ErrNoTopic)
		case r.next < r.p.start || r.next > r.p.end:
			return fmt.Errorf("topic %s partition %d offset %d, has %d to %d: %w", r.at.Topic, r.at.Partition, r.next, r.p.start, r.p.end, wire.ErrOffsetGone)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	records, next, bytes := r.p.read(r.next, r.how.Committed, r.how.MaxBytes)
	high, stable := r.p.end, r.p.stable()
	r.next = next
	if told := &r.told; len(records) > 0 || *told != struct{ next, high, stable int64 }{next, high, stable} {
		told.next, told.high, told.stable = next, high, stable
		return r.batch(records, bytes), nil, nil
	}
	return nil, r.p.change(), nil
}

// batch makes the news that told describes into a batch.
func (r *reader) batch(records []wire.Record, bytes int) *wire.Batch {
	batch := &wire.Batch{TopicPartition: r.at, Records: records, Next: r.told.next, High: r.told.high, Stable: r.told.stable, Bytes: bytes}
	poison := func() {}
	if r.cn.c.Poison {
		batch.Records, poison = mortal(records, bytes)
	}
	if !r.how.Headers {
		batch.Records = beheaded(batch.Records)
	}
	r.held.Add(int64(bytes))
	batch.Free = func() {
		poison()
		r.held.Add(-int64(bytes))
		select {
		case r.freed <- struct{}{}:
		default:
		}
	}
	return batch
}

// beheaded leaves headers out. Records without any are returned as they are.
func beheaded(records []wire.Record) []wire.Record {
	for i := range records {
		if records[i].Headers != nil {
			bare := append([]wire.Record(nil), records...)
			for j := i; j < len(bare); j++ {
				bare[j].Headers = nil
			}
			return bare
		}
	}
	return records
}

// Close is described at wire.Reader.
func (r *reader) Close() error { return nil }

// mortal copies records into memory of their own, and returns how to destroy it.
func mortal(records []wire.Record, bytes int) (copied []wire.Record, destroy func()) {
	var a arena
	a.grow(bytes)
	whole := a.free[:bytes]
	copied = make([]wire.Record, len(records))
	for i := range records {
		copied[i] = a.record(records[i].Time, records[i].Key, records[i].Value, records[i].Headers)
		copied[i].Offset = records[i].Offset
	}
	return copied, func() {
		for i := range whole {
			whole[i] = 0xdb
		}
	}
}
