package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// defaultBatchBytes is WriterConfig.BatchBytes when it is not set.
const defaultBatchBytes = 128 << 10

// A parcel is one partition's batch of one checkpoint on its way.
type parcel struct {
	n       uint64
	part    *partition
	records []wire.Record
	bytes   int
}

// A writer is what plain and transactional writers share. It has no goroutine: a batch is sent by the appender that filled or cut
// it, and acknowledged when that call returns, so nothing is ever in flight and Full stays false.
type writer struct {
	cn   *conn
	how  wire.WriterConfig
	send func(p parcel) error // with sending held. errPending: not yet, keep it

	sending sync.Mutex // serialises send: sequence numbers must arrive in order
	waiting []parcel   // could not be sent yet, by a transaction that is not complete

	mu struct {
		sync.Mutex
		appenders map[*appender]bool
		ends      map[uint64]map[wire.TopicPartition]int64 // by checkpoint: the offset after the last record
		flushed   uint64                                   // the last checkpoint that Flush has answered for
		change    chan struct{}                            // closed when a Flush should look again
		err       error
	}
	failed  chan struct{}
	drained chan struct{}
}

func newWriter(cn *conn, how wire.WriterConfig) *writer {
	if how.BatchBytes <= 0 {
		how.BatchBytes = defaultBatchBytes
	}
	w := &writer{cn: cn, how: how, failed: make(chan struct{}), drained: make(chan struct{}, 1)}
	w.mu.appenders = map[*appender]bool{}
	w.mu.ends = map[uint64]map[wire.TopicPartition]int64{}
	w.mu.change = make(chan struct{})
	return w
}

// Writer is described at wire.Log. Linger has no meaning here: what an appender holds is sent when it is a batch or is cut.
func (cn *conn) Writer(ctx context.Context, how wire.WriterConfig) (wire.Writer, error) {
	w := newWriter(cn, how)
	pid, err := ask(ctx, cn, faults.Request{Kind: faults.InitProducer}, func(b *broker) (int64, error) { return b.newPID(), nil })
	if err != nil {
		return nil, fmt.Errorf("open writer %s: %w", how.Name, err)
	}
	seqs := map[*partition]int32{}
	w.send = func(p parcel) error {
		seq := seqs[p.part]
		seqs[p.part] += int32(len(p.records))
		return w.produce(p, "", func(b *broker) (int64, error) {
			return p.part.produce(pid, 0, seq, p.records, nil, b.now.UnixMilli())
		})
	}
	return w, nil
}

// produce sends a parcel and notes where it ended.
func (w *writer) produce(p parcel, id string, op func(b *broker) (int64, error)) error {
	at := wire.TopicPartition{Topic: p.part.topic.name, Partition: p.part.index}
	count := int64(len(p.records))
	base, err := ask(atOnce, w.cn, faults.Request{Kind: faults.Produce, ID: id, Topic: at.Topic, Partition: at.Partition}, op)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ends := w.mu.ends[p.n]
	if ends == nil {
		ends = map[wire.TopicPartition]int64{}
		w.mu.ends[p.n] = ends
	}
	ends[at] = base + count
	return nil
}

// deliver sends a parcel, or keeps it until its transaction can begin.
func (w *writer) deliver(p parcel) {
	w.sending.Lock()
	defer w.sending.Unlock()
	if w.Err() != nil {
		return
	}
	for _, before := range w.waiting {
		if before.n == p.n {
			w.waiting = append(w.waiting, p) // not past what is before it
			return
		}
	}
	w.try(p)
}

// try sends a parcel now, if its transaction can begin.
func (w *writer) try(p parcel) {
	switch err := w.send(p); {
	case errors.Is(err, errPending):
		w.waiting = append(w.waiting, p)
	case err != nil:
		w.fail(err)
	}
}

// retry sends what had to wait. Parcels that still have to stay in their order.
func (w *writer) retry() {
	w.sending.Lock()
	defer w.sending.Unlock()
	parcels := w.waiting
	w.waiting = nil
	for _, p := range parcels {
		if w.Err() != nil {
			return
		}
		w.try(p)
	}
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.err == nil {
		w.mu.err = fmt.Errorf("writer %s: %w", w.how.Name, err)
		close(w.failed)
		w.wakeLocked()
	}
}

func (w *writer) wakeLocked() {
	close(w.mu.change)
	w.mu.change = make(chan struct{})
}

// Flush is described at wire.Writer.
func (w *writer) Flush(ctx context.Context, n uint64) (map[wire.TopicPartition]int64, error) {
	for {
		w.retry()
		ends, change, err := w.flushed(n)
		if ends != nil || err != nil {
			return ends, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := wait(ctx, change); err != nil {
			return nil, err
		}
	}
}

// flushed are the ends of checkpoint n, or what to wait for.
func (w *writer) flushed(n uint64) (map[wire.TopicPartition]int64, <-chan struct{}, error) {
	w.sending.Lock()
	waits := false
	for _, p := range w.waiting {
		waits = waits || p.n <= n
	}
	w.sending.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.err != nil {
		return nil, nil, w.mu.err
	}
	for a := range w.mu.appenders {
		waits = waits || a.next <= n
	}
	if waits {
		return nil, w.mu.change, nil
	}
	ends := map[wire.TopicPartition]int64{}
	for _, at := range slices.Sorted(maps.Keys(w.mu.ends)) {
		switch {
		case at <= w.mu.flushed && w.mu.flushed < n:
			delete(w.mu.ends, at) // was told, and will not be asked for again
		case at <= n:
			maps.Copy(ends, w.mu.ends[at])
		}
	}
	w.mu.flushed = max(w.mu.flushed, n)
	return ends, nil, nil
}

// Full is described at wire.Writer.
func (w *writer) Full() bool { return false }

// Drained is described at wire.Writer.
func (w *writer) Drained() <-chan struct{} { return w.drained }

// Failed is described at wire.Writer.
func (w *writer) Failed() <-chan struct{} { return w.failed }

// Err is described at wire.Writer.
func (w *writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.err
}

// Close is described at wire.Writer. What appenders hold is dropped with them.
func (w *writer) Close() error {
	w.fail(errClosed)
	return nil
}

var errClosed = errors.New("memory: writer is closed")
