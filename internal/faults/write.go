package faults

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/weirstream/weir/internal/wire"
)

// Writer opens a plain writer.
func (l *Log) Writer(ctx context.Context, how wire.WriterConfig) (wire.Writer, error) {
	var w wire.Writer
	err := l.do(Request{Kind: InitProducer}, func() (err error) {
		w, err = l.inner.Writer(ctx, how)
		return err
	})
	switch {
	case err == nil:
		return l.writer(w), nil
	case w != nil:
		return nil, errors.Join(err, w.Close()) // opened, and nobody knows
	default:
		return nil, err
	}
}

// Transactions opens a transactional writer.
func (l *Log) Transactions(ctx context.Context, c wire.TxConfig) (wire.Transactions, error) {
	var t wire.Transactions
	err := l.do(Request{Kind: InitProducer, ID: c.IDs[0]}, func() (err error) {
		t, err = l.inner.Transactions(ctx, c)
		return err
	})
	switch {
	case err == nil:
		return &transactions{l.writer(t), t, c.IDs}, nil
	case t != nil:
		return nil, errors.Join(err, t.Close())
	default:
		return nil, err
	}
}

// A writer fails when the writer below does, and when it refuses a record. It ends when the connection is killed.
type writer struct {
	wire.Writer
	l      *Log
	failed chan struct{}
	ended  context.CancelFunc // stops watching
	watch  sync.WaitGroup

	mu      sync.Mutex
	refused error
}

func (l *Log) writer(w wire.Writer) *writer {
	ctx, cancel := context.WithCancel(l.ctx)
	out := &writer{Writer: w, l: l, failed: make(chan struct{}), ended: cancel}
	out.watch.Go(func() {
		select {
		case <-w.Failed():
		case <-ctx.Done():
			_ = w.Close()
		}
		close(out.failed)
	})
	return out
}

// Close ends the writer below and the goroutine that watches it.
func (w *writer) Close() error {
	w.ended()
	w.watch.Wait()
	return w.Writer.Close()
}

func (w *writer) Failed() <-chan struct{} { return w.failed }

// Err says why it failed.
func (w *writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.refused != nil:
		return w.refused
	case w.l.ctx.Err() != nil:
		return ErrKilled
	default:
		return w.Writer.Err()
	}
}

// refuse fails the writer as a broker's refusal of a batch does.
func (w *writer) refuse(err error) {
	w.mu.Lock()
	if w.refused == nil {
		w.refused = err
	}
	w.mu.Unlock()
	w.ended()
}

func (w *writer) Flush(ctx context.Context, n uint64) (ends map[wire.TopicPartition]int64, err error) {
	err = w.l.do(Request{Kind: Produce}, func() error {
		ends, err = w.Writer.Flush(ctx, n)
		return err
	})
	if refused := w.Err(); refused != nil {
		err = refused
	}
	if err != nil {
		return nil, err
	}
	return ends, nil
}

type transactions struct {
	*writer
	t   wire.Transactions
	ids [2]string
}

func (t *transactions) Wrote(n uint64) bool { return t.t.Wrote(n) }

// Commit has an unknown outcome when its call or its answer was lost.
func (t *transactions) Commit(ctx context.Context, n uint64, who wire.Identity, at []wire.Position) error {
	if err := errors.Join(t.Err(), metadataTooLarge(at)); err != nil {
		return err
	}
	err := t.l.do(Request{Kind: EndTxn, ID: t.ids[n%2]}, func() error { return t.t.Commit(ctx, n, who, at) })
	if errors.Is(err, ErrLost) || errors.Is(err, ErrKilled) {
		return fmt.Errorf("%w: commit %d: %w", wire.ErrUnknownOutcome, n, err)
	}
	return err
}

// metadataTooLarge refuses what a broker with Kafka's defaults refuses and the embedded broker of tests accepts.
func metadataTooLarge(at []wire.Position) error {
	for _, p := range at {
		if n := len(p.Metadata); n > 4096 {
			return fmt.Errorf("%w: topic %s partition %d: %d bytes of offset metadata, at most 4096", wire.ErrRefused, p.Topic, p.Partition, n)
		}
	}
	return nil
}

// Appender makes an appender whose records are checked as a broker does.
func (w *writer) Appender(task string, next uint64) (wire.Appender, error) {
	a, err := w.Writer.Appender(task, next)
	if err != nil {
		return nil, err
	}
	return &appender{a, w}, nil
}

type appender struct {
	wire.Appender
	w *writer
}

func (a *appender) To(ctx context.Context, topic string) (wire.Out, error) {
	var o wire.Out
	err := a.w.l.do(Request{Kind: Metadata, Topic: topic}, func() (err error) {
		o, err = a.Appender.To(ctx, topic)
		return err
	})
	if err != nil {
		return nil, err
	}
	described, err := a.w.l.inner.Topics(ctx, topic)
	if err != nil {
		return nil, err
	}
	ahead, err := strconv.ParseInt(described[topic].Configs["message.timestamp.after.max.ms"], 10, 64)
	if err != nil {
		ahead = 3_600_000 // what a broker has when it does not say
	}
	return &out{o, a.w, topic, ahead}, nil
}

// An out refuses records that are further ahead of the clock than the topic allows. The embedded broker takes them.
type out struct {
	wire.Out
	w     *writer
	topic string
	ahead int64
}

func (o *out) Append(partition int32, time int64, key, value []byte, headers []wire.Header) {
	if now := o.w.l.Now().UnixMilli(); time-now > o.ahead {
		o.w.refuse(fmt.Errorf("%w: topic %s partition %d: timestamp %d is %d ms ahead, at most %d", wire.ErrRefused, o.topic, partition, time, time-now, o.ahead))
		return
	}
	o.Out.Append(partition, time, key, value, headers)
}
