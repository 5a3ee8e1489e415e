package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

const (
	defaultReadBytes = 1 << 20
	fetchBytesLeast  = 16 << 10
	shareLeast       = 1 << 10
	// fetchBytesMost is how far a partition's share of an answer grows for a batch that does not fit.
	fetchBytesMost = 64 << 20
	// quietSpan is how long Next waits at the end of a partition before it returns with what is known by then.
	quietSpan = time.Second
	// heardWithin is how old the leader's word may be that there is nothing more. A leader at work gives it at least once a quietSpan.
	heardWithin = 5 * time.Second
)

// A cursor is a wire.Reader: one partition, what was fetched of it, and where to fetch next. Its fields belong to reads.mu, except
// for those that never change and the ones that the reading goroutine alone uses.
type cursor struct {
	reads *reads
	at    wire.TopicPartition
	how   wire.ReadOptions
	news  chan struct{} // holds one token when something has changed for Next

	next     int64 // the offset to fetch next
	high     int64 // what the broker last said; -1 before the first answer
	stable   int64
	heard    time.Time // when it said so
	share    int32     // of an answer, in bytes as they are sent
	held     int       // bytes of batches that are queued or not released yet
	queue    []*wire.Batch
	home     *fetcher // nil while nobody knows the leader
	fetching bool
	closed   bool
	failed   error
	missing  time.Time // since when the cluster has said that the topic does not exist

	seen  wire.Batch // the state that Next returned last
	timer *time.Timer
}

// end is where a reader of this isolation has read everything.
func (c *cursor) end() int64 {
	if c.how.Committed {
		return c.stable
	}
	return c.high
}

// wantsLocked reports whether the next request to the leader should ask for this partition: a slow reader's does not.
func (c *cursor) wantsLocked() bool {
	return !c.fetching && !c.closed && c.failed == nil && c.held <= c.how.MaxBytes/2
}

// behindLocked reports whether there is, as far as is known, something to fetch.
func (c *cursor) behindLocked() bool { return c.high < 0 || c.next < c.end() }

// Next is described at wire.Reader.
func (c *cursor) Next(ctx context.Context) (*wire.Batch, error) {
	var quiet <-chan time.Time
	for {
		b, err := c.poll(false)
		if b != nil || err != nil {
			return b, err
		}
		if quiet == nil {
			c.timer.Reset(quietSpan)
			defer c.timer.Stop()
			quiet = c.timer.C
		}
		select {
		case <-c.news:
		case <-quiet:
			return c.poll(true)
		case <-ctx.Done():
			if b, err := c.poll(false); b != nil || err != nil {
				return b, err
			}
			return nil, context.Cause(ctx)
		}
	}
}

// poll is what is at hand: a batch, an error, news, or nothing; anyway what is known, if it is no news. All is looked at under one lock: what
// is known has the place behind the batches that are queued, and for whoever heard of it before them they would be done.
func (c *cursor) poll(anyway bool) (*wire.Batch, error) {
	c.reads.mu.Lock()
	defer c.reads.mu.Unlock()
	if len(c.queue) > 0 {
		b := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		c.remember(b)
		return b, nil
	}
	if c.failed != nil {
		return nil, c.failed
	}
	if c.closed {
		return nil, errClosed
	}
	return c.stateLocked(anyway), nil
}

// stateLocked is an empty batch with what is known of the partition, or nil when it is no news and not wanted anyway. Nothing is queued.
func (c *cursor) stateLocked(anyway bool) *wire.Batch {
	if c.high < 0 && !anyway || !anyway && c.seen.Next == c.next && c.seen.High == c.high && c.seen.Stable == c.stable {
		return nil
	}
	b := &wire.Batch{TopicPartition: c.at, Next: c.next, High: c.high, Stable: c.stable}
	c.remember(b)
	if c.next >= c.high && time.Since(c.heard) > heardWithin {
		// Nobody knows whether this is still the end: a partition whose leader is not reached is not one where nothing is written.
		b.High = -1
	}
	return b
}

func (c *cursor) remember(b *wire.Batch) {
	c.seen.Next, c.seen.High, c.seen.Stable = b.Next, b.High, b.Stable
}

// Close is described at wire.Reader.
func (c *cursor) Close() error {
	c.reads.remove(c)
	return nil
}

// fill queues a batch.
func (c *cursor) fillLocked(b *wire.Batch) {
	bytes := b.Bytes
	c.held += bytes
	free := b.Free
	b.Free = func() {
		free()
		c.reads.released(c, bytes)
	}
	c.queue = append(c.queue, b)
	c.adjustLocked(bytes)
}

// adjustLocked makes the share of the next answer fit the budget: what was sent compressed is larger in memory.
func (c *cursor) adjustLocked(bytes int) {
	want := max(c.how.MaxBytes/2, 1)
	switch most := shareOf(c.how.MaxBytes); {
	case bytes > want:
		c.share = int32(max(int(c.share)*want/bytes, shareLeast))
	case bytes < want/2 && c.share < most:
		c.share = min(c.share*2, most)
	}
}

// shareOf is how much of an answer a partition with a budget asks for at most: some answers fit into the budget, so that one is
// processed while another comes.
func shareOf(budget int) int32 { return int32(min(max(budget/4, fetchBytesLeast), fetchBytesMost)) }

// fail ends the cursor with an error that reading again from the same offset would meet again.
func (c *cursor) failLocked(err error) {
	c.failed = fmt.Errorf("kafka: reading topic %q partition %d at offset %d: %w", c.at.Topic, c.at.Partition, c.next, err)
	c.tell()
}

func (c *cursor) tell() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}
