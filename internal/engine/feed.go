package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// A feed reads one partition for one input of a task.
type feed struct {
	r      *runner
	input  int
	name   string
	open   func(ctx context.Context, from connector.Position) (task.Reader, error)
	reader task.Reader
	end    connector.Position // where a new reader goes on
	limit  int64
	commit func(ctx context.Context, end connector.Position) error // under AtMostOnce
	ended  bool                                                    // io.EOF was seen

	outstanding atomic.Int64 // bytes pushed and not processed
	pushed      atomic.Int64 // bytes in the mailbox, not yet seen by the task
	wake        chan struct{}
	cancel      context.CancelFunc // of the goroutine that runs it
}

// positioned is implemented by batches: where a reader goes on after them.
type positioned interface{ End() connector.Position }

// run reads until ctx ends. It never gives up: an input that cannot be read is waited for, and shown as such.
func (f *feed) run(ctx context.Context) {
	defer f.r.s.unhold(f)
	for backoff := time.Duration(0); ctx.Err() == nil; {
		if err := f.named(ctx, f.readAll(ctx)); err == nil {
			return
		} else if ctx.Err() == nil {
			if fatal(err) || Recoverable(err) {
				f.r.fail(err)
				return
			}
			f.r.s.pause(f.name, err)
			backoff = min(max(2*backoff, 50*time.Millisecond), 5*time.Second)
			select {
			case <-ctx.Done():
			case <-time.After(backoff):
			}
		}
	}
}

// nameError gives an error of a source the name that users know it by.
func nameError(err error) error {
	if errors.Is(err, wire.ErrOffsetGone) {
		return fmt.Errorf("%w: %w", ErrPositionLost, err)
	}
	return err
}

// named is nameError, unless the place is gone because somebody else has gone on from a later one: what was committed is deleted from repartition
// topics, and retention deletes the rest. A process that was suspended past its session is still where it was; it begins anew, and finds out whose the task is.
func (f *feed) named(ctx context.Context, err error) error {
	err = nameError(err)
	if errors.Is(err, ErrPositionLost) && f.passed(ctx) {
		return &errRecover{fmt.Errorf("somebody else has committed a later position: %w", err)}
	}
	return err
}

// passed reports whether the group is at a later position than this feed, which only another owner of the task can have committed.
func (f *feed) passed(ctx context.Context) bool {
	s, partition := f.r.s, f.r.ref.partition
	for _, in := range s.committable(f.r.sub) {
		if in.name != f.name {
			continue
		}
		for _, here := range in.offsets(partition, string(f.end)) {
			tp := wire.TopicPartition{Topic: here.Topic, Partition: int32(partition)}
			found, open, err := s.base.log.Settled(ctx, s.plan.App, []wire.TopicPartition{tp})
			if err == nil && (open[tp] || found[tp].Offset > here.Offset) {
				return true // what is open may be such a position
			}
		}
	}
	return false
}

// fatal reports whether an error of a source must not be waited for.
func fatal(err error) bool {
	return errors.Is(err, ErrPositionLost) || errors.Is(err, ErrTopic) || errors.Is(err, ErrConfig)
}

// readAll opens the reader and pushes its batches. It returns nil when the partition has ended.
func (f *feed) readAll(ctx context.Context) error {
	r, err := f.open(ctx, f.end)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			f.r.send(message{kind: anEnd, input: f.input})
			return nil
		}
		if err != nil {
			return err
		}
		f.r.s.resume(f.name)
		f.hold(b)
		if err := f.first(ctx, b); err != nil {
			return err
		}
		f.push(b)
		for f.full() {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-f.wake:
			}
		}
	}
}

// first commits where a batch ends before the task sees it, under AtMostOnce: what is lost behind that is lost.
func (f *feed) first(ctx context.Context, b task.Batch) error {
	p, ok := b.(positioned)
	if f.commit == nil || !ok || b.Len() == 0 {
		return nil
	}
	return f.commit(ctx, p.End())
}

// push hands a batch to the task.
func (f *feed) push(b task.Batch) {
	if p, ok := b.(positioned); ok {
		if end := p.End(); end != "" {
			f.end = end
		}
	}
	f.pushed.Add(int64(b.Bytes()))
	f.r.send(message{kind: aBatch, input: f.input, batch: b})
}

// full reports whether the task has enough to do. An input that has nothing may always hold one batch, so waiting for it is safe.
func (f *feed) full() bool { return f.outstanding.Load()+f.pushed.Load() >= f.limit }

// consumed is called by the task's goroutine with what waits in the input now; the mailbox is empty then, or nearly.
func (f *feed) consumed(queued int64) {
	f.outstanding.Store(queued)
	f.pushed.Store(0)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// poll is run for a driver without goroutines: it pushes what is at hand and reports whether there was anything.
func (f *feed) poll(ended context.Context) (bool, error) {
	if f.ended || f.full() {
		return false, nil
	}
	if f.reader == nil {
		r, err := f.open(f.r.env.Context, f.end)
		if err != nil {
			return false, f.named(f.r.env.Context, err)
		}
		f.reader = r
	}
	b, err := f.reader.Next(ended)
	switch {
	case errors.Is(err, io.EOF):
		f.ended = true
		f.r.send(message{kind: anEnd, input: f.input})
		return true, nil
	case err != nil && ended.Err() != nil && errors.Is(err, ended.Err()):
		return false, nil
	case err != nil:
		return false, f.named(f.r.env.Context, err)
	}
	f.hold(b)
	if err := f.first(f.r.env.Context, b); err != nil {
		return false, err
	}
	f.push(b)
	return b.Len() > 0, nil
}

// stop ends reading; what was pushed is still processed.
func (f *feed) stop() {
	if f.cancel != nil {
		f.cancel()
	}
	f.ended = true
}

func (f *feed) close() {
	if f.reader != nil {
		f.reader.Close()
	}
}
