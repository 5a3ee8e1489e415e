package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

const (
	defaultBatchBytes    = 128 << 10
	defaultLinger        = 5 * time.Millisecond
	defaultBufferedBytes = 32 << 20
	// topicBytes is the limit of a batch where the topic does not say.
	topicBytes = 1 << 20
)

// A writer is a wire.Writer, and the part of wire.Transactions that moves records.
//
// A record's way: an appender puts it into the open parcel of its lane. A parcel that is full, old or cut is sealed and queued in the
// lane; a lane with something to send is offered to the sender of the broker that leads it (under transactions, when its
// partition is part of the transaction). The answer frees the lane for its next parcel, or sends the same again.
type writer struct {
	*dialer
	log  *clusterLog
	how  wire.WriterConfig
	tx   *transactions // nil: plain
	id   producer      // of a plain writer
	ctx  context.Context
	end  context.CancelCauseFunc
	done sync.WaitGroup

	dead     atomic.Bool
	buffered atomic.Int64
	full     atomic.Bool
	drained  chan struct{}
	failed   chan struct{}
	spare    sync.Pool // of parcels
	aged     chan struct{}
	lost     chan struct{}

	mu       sync.Mutex
	err      error
	lanes    map[wire.TopicPartition]*lane
	topics   map[string]*openTopic
	senders  map[string]*sender
	homeless []*lane
	aging    []aging        // parcels that are or were open, the oldest first
	next     map[uint64]int // appenders by the checkpoint they are in
	pending  map[uint64]int // parcels of a checkpoint that are not acknowledged
	wrote    map[uint64]bool
	ends     map[uint64]map[wire.TopicPartition]int64
	moved    chan struct{} // closed and replaced when pending or next has changed
}

type openTopic struct {
	said  wire.Topic // by the cluster
	lanes []*lane
	bytes int
}

type aging struct {
	*parcel
	lane   *lane
	n      uint64
	closes time.Time
}

func newWriter(l *clusterLog, how wire.WriterConfig) *writer {
	how.BatchBytes = cmp.Or(how.BatchBytes, defaultBatchBytes)
	how.Linger = cmp.Or(how.Linger, defaultLinger)
	how.BufferedBytes = cmp.Or(how.BufferedBytes, defaultBufferedBytes)
	w := &writer{
		dialer: l.dialer, log: l, how: how,
		drained: make(chan struct{}, 1), failed: make(chan struct{}), aged: make(chan struct{}, 1), lost: make(chan struct{}, 1),
		lanes: make(map[wire.TopicPartition]*lane), topics: make(map[string]*openTopic), senders: make(map[string]*sender),
		next: make(map[uint64]int), pending: make(map[uint64]int), wrote: make(map[uint64]bool),
		ends: make(map[uint64]map[wire.TopicPartition]int64), moved: make(chan struct{}),
	}
	w.spare.New = func() any { return new(parcel) }
	w.ctx, w.end = context.WithCancelCause(context.Background())
	return w
}

// Writer is described at wire.Log.
func (l *clusterLog) Writer(ctx context.Context, how wire.WriterConfig) (wire.Writer, error) {
	w := newWriter(l, how)
	err := l.dir.anyBroker(ctx, func(b *sarama.Broker) (err error) {
		w.id, err = initProducer(b, nil, 0, producer{-1, -1})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kafka: opening a writer: %w", err)
	}
	w.start()
	return w, nil
}

func (w *writer) start() {
	w.done.Go(w.age)
	w.done.Go(w.find)
}

// initProducer asks for a producer's identity: a new one, or the next epoch of one that is known.
func initProducer(b *sarama.Broker, txID *string, timeout time.Duration, of producer) (producer, error) {
	request := &sarama.InitProducerIDRequest{Version: 4, TransactionalID: txID, TransactionTimeout: timeout, ProducerID: of.id, ProducerEpoch: of.epoch}
	if txID == nil {
		request.TransactionTimeout = time.Duration(1<<31-1) * time.Millisecond
	}
	answer, err := b.InitProducerID(request)
	if err != nil {
		return producer{}, err
	}
	if answer.Err != sarama.ErrNoError {
		return producer{}, answer.Err
	}
	return producer{answer.ProducerID, answer.ProducerEpoch}, nil
}

// Full, Drained, Failed and Err are described at wire.Writer.
func (w *writer) Full() bool               { return w.full.Load() }
func (w *writer) Drained() <-chan struct{} { return w.drained }
func (w *writer) Failed() <-chan struct{}  { return w.failed }
func (w *writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close is described at wire.Writer.
func (w *writer) Close() error {
	w.dead.Store(true)
	w.end(errClosed)
	w.done.Wait()
	return nil
}

// fail ends the writer: what it was given can no longer be promised.
func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.ctx.Err() != nil {
		return
	}
	w.err = fmt.Errorf("kafka: writer %q: %w", w.how.Name, err)
	w.dead.Store(true)
	close(w.failed)
	w.movedLocked()
}

func (w *writer) movedLocked() {
	close(w.moved)
	w.moved = make(chan struct{})
}

// parcel is an empty one, for checkpoint n. It begins to age. The lane's lock is held.
func (w *writer) parcel(l *lane, n uint64) *parcel {
	p := w.spare.Get().(*parcel)
	p.lane, p.n, p.closes = l, n, time.Now().Add(w.how.Linger)
	p.counted = 0
	w.grew(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[n]++
	w.wrote[n] = true
	w.aging = append(w.aging, aging{p, l, n, p.closes})
	if len(w.aging) == 1 {
		signal(w.aged)
	}
	return p
}

// grew counts the memory of a parcel that has grown.
func (w *writer) grew(p *parcel) {
	m := p.memory()
	if w.buffered.Add(m-p.counted) > w.how.BufferedBytes {
		w.full.Store(true)
	}
	p.counted = m
}

// shrank gives a parcel back. Full ends well below the limit, so that tasks are not stopped and started for every batch.
func (w *writer) shrank(p *parcel) {
	left := w.buffered.Add(-p.counted)
	p.empty()
	w.spare.Put(p)
	if left <= w.how.BufferedBytes/2 && w.full.CompareAndSwap(true, false) {
		signal(w.drained)
	}
}

// acknowledged counts a parcel as done, with the offset that the broker gave its first record.
func (w *writer) acknowledged(p *parcel, offset int64) {
	l, n, after := p.lane, p.n, offset+int64(p.records)
	l.acknowledged(p)
	w.shrank(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	ends := w.ends[n]
	if ends == nil {
		ends = make(map[wire.TopicPartition]int64)
		w.ends[n] = ends
	}
	ends[l.at] = max(ends[l.at], after)
	w.pending[n]--
	if w.pending[n] == 0 {
		delete(w.pending, n)
		w.movedLocked()
	}
}

// open finds a topic's lanes and limits, asking the cluster the first time.
func (w *writer) open(ctx context.Context, topic string) (*openTopic, error) {
	w.mu.Lock()
	t := w.topics[topic]
	w.mu.Unlock()
	if t != nil {
		return t, nil
	}
	known, err := w.log.Topics(ctx, topic)
	if err != nil {
		return nil, err
	}
	of, ok := known[topic]
	if !ok {
		return nil, fmt.Errorf("kafka: topic %q: %w", topic, wire.ErrNoTopic)
	}
	bytes := topicBytes
	if n, err := strconv.Atoi(of.Configs["max.message.bytes"]); err == nil && n > batchHead+recordOverhead {
		bytes = n
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.topics[topic]; t != nil {
		return t, nil
	}
	t = &openTopic{said: of, lanes: make([]*lane, of.Partitions), bytes: bytes - batchHead - recordOverhead}
	for i := range t.lanes {
		at := wire.TopicPartition{Topic: topic, Partition: int32(i)}
		t.lanes[i] = &lane{w: w, at: at, most: min(w.how.BatchBytes, bytes)}
		w.lanes[at] = t.lanes[i]
	}
	w.topics[topic] = t
	return t, nil
}

// Flush is described at wire.Writer.
func (w *writer) Flush(ctx context.Context, n uint64) (map[wire.TopicPartition]int64, error) {
	sealed := false
	for {
		w.mu.Lock()
		moved, err := w.moved, cmp.Or(w.err, context.Cause(w.ctx))
		cut, flown := !upTo(w.next, n), !upTo(w.pending, n)
		if err == nil && cut && flown {
			out := w.takeEndsLocked(n)
			if w.tx == nil {
				maps.DeleteFunc(w.wrote, func(k uint64, _ bool) bool { return k <= n })
			}
			w.mu.Unlock()
			return out, nil
		}
		w.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if cut && !sealed {
			w.seal(n)
			sealed = true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-w.ctx.Done():
			return nil, context.Cause(w.ctx)
		}
	}
}

// upTo reports whether something is counted under n or an earlier checkpoint.
func upTo(counts map[uint64]int, n uint64) bool {
	for k := range counts {
		if k <= n {
			return true
		}
	}
	return false
}

func (w *writer) takeEndsLocked(n uint64) map[wire.TopicPartition]int64 {
	out := make(map[wire.TopicPartition]int64)
	for k, ends := range w.ends {
		if k > n {
			continue
		}
		for at, end := range ends {
			out[at] = max(out[at], end)
		}
		delete(w.ends, k)
	}
	return out
}

// seal lets all open parcels up to checkpoint n go.
func (w *writer) seal(n uint64) {
	w.mu.Lock()
	lanes := slices.Collect(maps.Values(w.lanes))
	w.mu.Unlock()
	for _, l := range lanes {
		l.seal(n)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

var errUncut = errors.New("a task ended with records that it had not cut")
