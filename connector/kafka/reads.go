package kafka

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// topicMissing is how long a topic may be unknown to the cluster before its readers give up: one that was just made is, for a
// moment, to some brokers.
const topicMissing = 10 * time.Second

// reads has all partitions that the app reads, each at home with the fetcher of the broker that leads it. A partition whose leader
// is not known is homeless, and the finder looks for it. One lock guards all of it; it is taken a few times per batch, never per record.
type reads struct {
	*dialer
	dir  *directory
	ctx  context.Context // ends with close
	end  context.CancelFunc
	done sync.WaitGroup
	lost chan struct{} // holds one token when there are homeless cursors

	mu       sync.Mutex
	fetchers map[string]*fetcher
	homeless []*cursor
}

func newReads(d *dialer, dir *directory) *reads {
	r := &reads{dialer: d, dir: dir, lost: make(chan struct{}, 1), fetchers: make(map[string]*fetcher)}
	r.ctx, r.end = context.WithCancel(context.Background())
	r.done.Go(r.find)
	return r
}

func (r *reads) close() {
	r.end()
	r.done.Wait()
}

// open begins to read a partition.
func (r *reads) open(ctx context.Context, at wire.TopicPartition, from int64, how wire.ReadOptions) (*cursor, error) {
	if _, err := r.dir.lead(ctx, at); errors.Is(err, wire.ErrNoTopic) || errors.Is(err, wire.ErrRefused) {
		return nil, err
	}
	if how.MaxBytes <= 0 {
		how.MaxBytes = defaultReadBytes
	}
	c := &cursor{reads: r, at: at, how: how, next: from, high: -1, stable: -1, news: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	c.seen.Next, c.seen.High, c.seen.Stable = from, -1, -1
	c.share = shareOf(how.MaxBytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settleLocked(c)
	return c, nil
}

// settleLocked brings a cursor to its leader's fetcher, or to the homeless.
func (r *reads) settleLocked(c *cursor) {
	l, ok := r.dir.leader(c.at)
	if !ok {
		r.strayLocked(c)
		return
	}
	f := r.fetchers[l.addr]
	if f == nil {
		f = newFetcher(r, l.addr)
		r.fetchers[l.addr] = f
	}
	c.home, c.missing = f, time.Time{}
	f.cursors = append(f.cursors, c)
	f.wakeLocked()
}

// strayLocked takes a cursor from its home: the broker is not its leader, or does not answer.
func (r *reads) strayLocked(c *cursor) {
	r.leaveLocked(c)
	r.homeless = append(r.homeless, c)
	select {
	case r.lost <- struct{}{}:
	default:
	}
}

func (r *reads) leaveLocked(c *cursor) {
	is := func(o *cursor) bool { return o == c }
	if c.home != nil {
		c.home.cursors = slices.DeleteFunc(c.home.cursors, is)
		c.home = nil
	}
	r.homeless = slices.DeleteFunc(r.homeless, is)
}

func (r *reads) remove(c *cursor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.closed = true
	r.leaveLocked(c)
	for _, b := range c.queue {
		// What the caller never got is not its to release.
		b.Free = nil
	}
	c.queue = nil
	c.tell()
}

// released is called when a batch's memory is given back: the partition may be asked for again.
func (r *reads) released(c *cursor, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.held -= bytes
	if c.home != nil && c.wantsLocked() {
		c.home.wakeLocked()
	}
}

// find asks the cluster where the homeless belong. It waits before it asks, longer each time in a row: a leader that has just
// gone has no successor yet, and a broker that does not answer should not be asked over and over.
func (r *reads) find() {
	wait := newBackoff()
	for {
		select {
		case <-r.lost:
		case <-r.ctx.Done():
			return
		}
		if !wait.sleep(r.ctx, time.Time{}) {
			return
		}
		r.findOnce()
	}
}

func (r *reads) findOnce() {
	r.mu.Lock()
	var topics []string
	for _, c := range r.homeless {
		if !slices.Contains(topics, c.at.Topic) {
			topics = append(topics, c.at.Topic)
		}
	}
	r.mu.Unlock()
	if len(topics) == 0 {
		return
	}
	known, err := r.dir.describe(r.ctx, topics)
	if err != nil && r.ctx.Err() == nil {
		r.often.warn(r.log, "cannot find the leaders of partitions", "", "topics", topics, "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	again := r.homeless
	r.homeless = nil
	for _, c := range again {
		if err == nil && known[c.at.Topic] == nil && r.goneLocked(c) {
			continue
		}
		r.settleLocked(c)
	}
}

// goneLocked fails a cursor whose topic has been missing for long.
func (r *reads) goneLocked(c *cursor) bool {
	if c.missing.IsZero() {
		c.missing = time.Now()
	}
	if time.Since(c.missing) < topicMissing {
		return false
	}
	c.failLocked(wire.ErrNoTopic)
	return true
}
