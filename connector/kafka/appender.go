package kafka

import (
	"context"

	"github.com/weirstream/weir/internal/wire"
)

// An appender is a wire.Appender: one task's end of a writer.
type appender struct {
	w     *writer
	task  string
	n     uint64 // the checkpoint that records belong to
	dirty bool   // there are some that are not cut
}

// Appender is described at wire.Writer.
func (w *writer) Appender(task string, next uint64) (wire.Appender, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	w.next[next]++
	return &appender{w: w, task: task, n: next}, nil
}

// To is described at wire.Appender.
func (a *appender) To(ctx context.Context, topic string) (wire.Out, error) {
	t, err := a.w.open(ctx, topic)
	if err != nil {
		return nil, err
	}
	return &out{a, t}, nil
}

// Cut is described at wire.Appender.
func (a *appender) Cut(n uint64) {
	a.dirty = false
	a.n = n + 1
	a.w.cut(n, n+1)
}

// Close is described at wire.Appender.
func (a *appender) Close() {
	a.w.cut(a.n, 0)
	if a.dirty && a.w.tx != nil {
		a.w.fail(errUncut)
	}
}

// cut moves an appender from one checkpoint to the next, or out with 0. When all have cut, what is open goes at once.
func (w *writer) cut(from, to uint64) {
	w.mu.Lock()
	if w.next[from]--; w.next[from] == 0 {
		delete(w.next, from)
	}
	if to != 0 {
		w.next[to]++
	}
	all := !upTo(w.next, from) && upTo(w.pending, from)
	w.movedLocked()
	w.mu.Unlock()
	if all {
		w.seal(from)
	}
}

// An out is a wire.Out.
type out struct {
	a *appender
	*openTopic
}

// Partitions, Topic, MaxBytes and Append are described at wire.Out.
func (o *out) Partitions() int32 { return int32(len(o.lanes)) }
func (o *out) Topic() wire.Topic { return o.said }
func (o *out) MaxBytes() int     { return o.bytes }
func (o *out) Append(partition int32, at int64, key, value []byte, headers []wire.Header) {
	if o.a.w.dead.Load() {
		return
	}
	o.a.dirty = true
	o.lanes[partition].append(o.a.n, at, key, value, headers)
}
