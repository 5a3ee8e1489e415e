// Package relay carries what an app writes for another cluster than its own.
//
// A task cannot write to two clusters in one transaction. So records for the far cluster go into an outbox, a topic of the app's own
// (the near) cluster, inside the transaction of the task's checkpoint; a Relay copies each partition of the outbox with transactions of
// the far cluster, each of which also holds the place up to which the outbox is carried. Whatever fails, the far cluster has
// records and place together, or neither: the next relay of the partition reads the place and goes on there.
//
// One Relay carries a partition at a time: each begins by taking over the partition's own transactional ids, which ends what an earlier
// one has open and locks it out. The package owns no goroutine.
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// A Config says what to carry. All fields are needed.
type Config struct {
	App        string
	Outbox     *Outbox
	TopicID    string // the outbox topic's, which changes when it is made anew
	Partition  int32
	Partitions int32 // of the outbox
	Near       wire.Log
	Timeout    time.Duration // of transactions on the far cluster
	Logger     *slog.Logger
}

// A Relay carries one partition of an outbox. One goroutine uses it, Lag, Wrote and Failing excepted.
type Relay struct {
	Config
	near wire.TopicPartition // what is read
	far  wire.TopicPartition // where the place is kept

	end     atomic.Int64 // of the outbox, as far as it is known to be committed
	at      atomic.Int64 // carried up to here
	failing atomic.Bool

	// Of an open relay.
	log    wire.Log // of the far cluster
	reader wire.Reader
	tx     wire.Transactions
	in     wire.Appender
	outs   map[string]wire.Out
	place  wire.Out
	n      uint64 // the last transaction that was begun
	purged int64  // when what is carried was last deleted, in ms
}

// New prepares a relay. It does nothing before the first Step.
func New(c Config) *Relay {
	return &Relay{Config: c,
		near: wire.TopicPartition{Topic: c.Outbox.Topic, Partition: c.Partition},
		far:  wire.TopicPartition{Topic: c.Outbox.Topic + "-carried", Partition: c.Partition},
	}
}

// Errors that waiting does not mend.
var (
	// ErrPlace: what the far cluster says of the outbox does not fit it.
	ErrPlace = errors.New("the place up to which an outbox is carried does not fit it")
	// ErrGone: records of the outbox were deleted before they were carried.
	ErrGone = errors.New("records of an outbox are gone")
)

// Lag is how many offsets of the outbox are committed and not carried, and 0 before the first Step has asked.
func (r *Relay) Lag() int64 { return max(0, r.end.Load()-r.at.Load()) }

// Reads is the partition that it carries.
func (r *Relay) Reads() wire.TopicPartition { return r.near }

// Wrote tells the relay that the outbox is committed up to an offset.
func (r *Relay) Wrote(end int64) {
	for {
		old := r.end.Load()
		if end <= old || r.end.CompareAndSwap(old, end) {
			return
		}
	}
}

// Failing reports whether the last Step has failed.
func (r *Relay) Failing() bool { return r.failing.Load() }

// Step waits for records until read ends and carries them: one batch, one transaction. It reports whether there were any. After an error, which is
// of infrastructure unless it is a named one, the next Step begins anew from the place that the far cluster knows.
func (r *Relay) Step(ctx, read context.Context) (moved bool, err error) {
	defer func() {
		r.failing.Store(err != nil)
		if err != nil {
			r.Close()
		}
	}()
	if r.reader == nil {
		if err := r.open(ctx); err != nil {
			return false, fmt.Errorf("outbox %s/%d: %w", r.near.Topic, r.near.Partition, err)
		}
	}
	b, err := r.reader.Next(read)
	switch {
	case err != nil && read.Err() != nil && errors.Is(err, read.Err()):
		return false, nil
	case err != nil: // also of an offset that is gone: whoever has taken over carried it and deleted it. The place says
		return false, fmt.Errorf("outbox %s/%d@%d: %w", r.near.Topic, r.near.Partition, r.at.Load(), err)
	}
	defer b.Release()
	r.Wrote(b.Stable)
	if len(b.Records) > 0 {
		if err := r.carry(ctx, b); err != nil {
			return false, fmt.Errorf("outbox %s/%d@%d: to the other cluster: %w", r.near.Topic, r.near.Partition, r.at.Load(), err)
		}
	}
	r.at.Store(b.Next)
	return len(b.Records) > 0, nil
}

// carry copies a batch in one transaction, with the place behind it.
func (r *Relay) carry(ctx context.Context, b *wire.Batch) error {
	r.n++
	for i := range b.Records {
		rec := &b.Records[i]
		topic, partition, err := destination(rec)
		if err != nil {
			return fmt.Errorf("record %d: %w", rec.Offset, err)
		}
		out, err := r.out(ctx, topic)
		if err != nil {
			return err
		}
		if n := out.Partitions(); partition >= n {
			return fmt.Errorf("record %d is for partition %d of topic %q, which has %d: was it made anew with fewer?", rec.Offset, partition, topic, n)
		}
		headers := rec.Headers[:len(rec.Headers)-1]
		if size := sizeOf(rec, headers); size > out.MaxBytes() {
			return fmt.Errorf("record %d has %d bytes, and topic %q takes %d: raise its max.message.bytes", rec.Offset, size, topic, out.MaxBytes())
		}
		out.Append(partition, rec.Time, rec.Key, rec.Value, headers)
	}
	now := r.log.Now().UnixMilli()
	r.place.Append(r.far.Partition, now, []byte(r.App), place{next: b.Next, topicID: r.TopicID, cluster: r.Near.ClusterID()}.append(nil), nil)
	r.in.Cut(r.n)
	ends, err := r.tx.Flush(ctx, r.n)
	if err != nil {
		return err
	}
	if err := r.tx.Commit(ctx, r.n, wire.Identity{}, nil); err != nil {
		return err
	}
	r.purge(ctx, now, b.Next, ends[r.far]-1)
	return nil
}

func (r *Relay) out(ctx context.Context, topic string) (wire.Out, error) {
	if out := r.outs[topic]; out != nil {
		return out, nil
	}
	out, err := r.in.To(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", topic, err)
	}
	r.outs[topic] = out
	return out, nil
}

// purgeEvery is how often what is carried is deleted, in ms.
const purgeEvery = 30_000

// purge deletes what is carried from the outbox, and places that a later one has replaced. What fails is done the next time.
func (r *Relay) purge(ctx context.Context, now, carried, place int64) {
	if now-r.purged < purgeEvery {
		return
	}
	r.purged = now
	err := errors.Join(
		r.Near.DeleteRecords(ctx, map[wire.TopicPartition]int64{r.near: carried}),
		r.log.DeleteRecords(ctx, map[wire.TopicPartition]int64{r.far: place}))
	if err != nil {
		r.Logger.Warn("an outbox was not purged", "outbox", r.near.Topic, "partition", r.near.Partition, "error", err)
	}
}

// Close ends the relay; a Step may begin it anew. What it has open on the far cluster is ended by whoever takes over, or by its timeout.
func (r *Relay) Close() {
	if r.reader != nil {
		_ = r.reader.Close()
	}
	if r.tx != nil {
		_ = r.tx.Close()
	}
	r.reader, r.tx, r.in, r.outs, r.place = nil, nil, nil, nil, nil
}
