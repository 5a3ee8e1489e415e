package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Pace sends the records from one number to another at a fixed rate, or until ctx ends (to 0 for no end): an open load, which
// does not slow down when the system under test does. Record n carries its number and the time at which it was meant to be sent,
// so a stall of the sender counts against nobody but shows in every latency. It returns the number after the last one sent.
func (b *Broker) Pace(ctx context.Context, l Load, perSecond int, from, to int64) (next int64, err error) {
	began := time.Now()
	var failed atomic.Pointer[error]
	var flying sync.WaitGroup
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for next = from; ctx.Err() == nil && (to == 0 || next < to); {
		due := from + int64(time.Since(began).Seconds()*float64(perSecond))
		if to > 0 {
			due = min(due, to)
		}
		for ; next < due; next++ {
			intended := began.Add(time.Duration(float64(next-from) / float64(perSecond) * float64(time.Second)))
			flying.Add(1)
			b.client.Produce(context.WithoutCancel(ctx), l.timed(next, intended), func(_ *kgo.Record, err error) {
				if err != nil {
					failed.Store(&err)
				}
				flying.Done()
			})
		}
		if err := failed.Load(); err != nil {
			return next, *err
		}
		<-tick.C
	}
	flying.Wait()
	if err := failed.Load(); err != nil {
		return next, *err
	}
	return next, nil
}

// timed is record n with its intended time behind its number.
func (l Load) timed(n int64, intended time.Time) *kgo.Record {
	value := make([]byte, ValueBytes)
	l.value(value, n)
	binary.BigEndian.PutUint64(value[16:], uint64(intended.UnixNano()))
	return &kgo.Record{Topic: l.Topic, Key: []byte(l.Key(n)), Value: value}
}

// An Arrival is one record of Pace as it came out of a pass-through.
type Arrival struct {
	N         int64
	Partition int32
	At        time.Time
	Latency   time.Duration // since the time at which it was meant to be sent
}

// Follow hands each record of a topic to each as it becomes visible to a read_committed consumer, until each returns false or ctx ends.
func (b *Broker) Follow(ctx context.Context, topic string, each func(Arrival) bool) error {
	reader, err := b.reader(topic)
	if err != nil {
		return err
	}
	defer reader.Close()
	for ctx.Err() == nil {
		fetched := reader.PollFetches(ctx)
		now := time.Now()
		for r := range fetched.RecordsAll() {
			if len(r.Value) != ValueBytes {
				continue
			}
			intended := time.Unix(0, int64(binary.BigEndian.Uint64(r.Value[16:])))
			if !each(Arrival{N: int64(binary.BigEndian.Uint64(r.Value[8:])), Partition: r.Partition, At: now, Latency: now.Sub(intended)}) {
				return nil
			}
		}
	}
	return nil
}

// Send writes one record of the load once more and waits until it is acknowledged.
func (b *Broker) Send(ctx context.Context, l Load, n int64) error {
	value := make([]byte, ValueBytes)
	l.value(value, n)
	return b.client.ProduceSync(ctx, &kgo.Record{Topic: l.Topic, Key: []byte(l.Key(n)), Value: value}).FirstErr()
}

// AwaitKey waits for a result for key that is at least atLeast.
func (b *Broker) AwaitKey(ctx context.Context, topic, key string, decode Decoder, atLeast int64) error {
	reader, err := b.reader(topic)
	if err != nil {
		return err
	}
	defer reader.Close()
	for ctx.Err() == nil {
		for r := range reader.PollFetches(ctx).RecordsAll() {
			if string(r.Key) != key {
				continue
			}
			if count, err := decode(r.Value); err == nil && count >= atLeast {
				return nil
			}
		}
	}
	return ctx.Err()
}

// LastCount is the last result for key that was visible when it was called, 0 when there was none. It reads up to that end: how long nothing
// comes says little on a busy machine.
func (b *Broker) LastCount(ctx context.Context, topic, key string, decode Decoder) (last int64, err error) {
	listed, err := b.admin.ListCommittedOffsets(ctx, topic)
	if err = errors.Join(err, listed.Error()); err != nil {
		return 0, err
	}
	left := make(map[int32]int64)
	listed.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	reader, err := b.reader(topic, kgo.KeepControlRecords()) // a transaction's end is the last of a partition
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	for len(left) > 0 && ctx.Err() == nil {
		for r := range reader.PollFetches(ctx).RecordsAll() {
			if end, ok := left[r.Partition]; ok && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() || string(r.Key) != key {
				continue
			}
			if last, err = decode(r.Value); err != nil {
				return 0, err
			}
		}
	}
	return last, ctx.Err()
}
