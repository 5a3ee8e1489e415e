package memory

import (
	"context"
	"errors"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// An appender collects one task's records by partition.
type appender struct {
	w     *writer
	task  string
	next  uint64 // the checkpoint that records belong to now. Written by its goroutine with w.mu held
	outs  []*out // in the order in which they were opened
	arena arena
}

// Appender is described at wire.Writer.
func (w *writer) Appender(task string, next uint64) (wire.Appender, error) {
	if err := w.Err(); err != nil {
		return nil, err
	}
	a := &appender{w: w, task: task, next: next}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.appenders[a] = true
	return a, nil
}

// To is described at wire.Appender.
func (a *appender) To(ctx context.Context, name string) (wire.Out, error) {
	for _, o := range a.outs {
		if o.topic.name == name {
			return o, nil
		}
	}
	t, err := ask(ctx, a.w.cn, faults.Request{Kind: faults.Metadata, Topic: name}, func(b *broker) (*topic, error) { return b.lookup(name) })
	if err != nil {
		return nil, err
	}
	o := &out{a: a, topic: t}
	o.look()
	a.outs = append(a.outs, o)
	return o, nil
}

// Cut is described at wire.Appender.
func (a *appender) Cut(n uint64) {
	for _, o := range a.outs {
		o.flush()
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	a.next = n + 1
	a.w.wakeLocked()
}

// Close is described at wire.Appender.
func (a *appender) Close() {
	for _, o := range a.outs {
		for _, open := range o.open {
			if len(open.records) > 0 {
				a.w.fail(errors.New("appender of task " + a.task + " was closed with records that were not cut"))
			}
		}
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	delete(a.w.mu.appenders, a)
	a.w.wakeLocked()
}

// An out collects records for one topic.
type out struct {
	a        *appender
	topic    *topic
	said     wire.Topic
	open     []openBatch // by partition
	maxBytes int
}

// An openBatch is what is not sent yet.
type openBatch struct {
	part    *partition
	records []wire.Record
	bytes   int
	room    int // of the batch before it: the next one will be as large
}

// look learns the topic's partitions and limits.
func (o *out) look() {
	o.a.w.cn.c.enter()
	defer o.a.w.cn.c.leave()
	if o.said.Name == "" {
		o.said = o.topic.describe()
	}
	for i := len(o.open); i < len(o.topic.parts); i++ {
		o.open = append(o.open, openBatch{part: o.topic.parts[i]})
	}
	o.maxBytes = max(0, o.topic.maxBytes-overhead)
}

// Topic is described at wire.Out.
func (o *out) Topic() wire.Topic { return o.said }

// Partitions is described at wire.Out. It is news once a checkpoint.
func (o *out) Partitions() int32 { return int32(len(o.open)) }

// MaxBytes is described at wire.Out.
func (o *out) MaxBytes() int { return o.maxBytes }

// Append is described at wire.Out.
func (o *out) Append(partition int32, time int64, key, value []byte, headers []wire.Header) {
	b := &o.open[partition]
	if b.records == nil {
		b.records = make([]wire.Record, 0, max(1, b.room))
	}
	r := o.a.arena.record(time, key, value, headers)
	b.records = append(b.records, r)
	b.bytes += recordSize(&r)
	if b.bytes >= o.a.w.how.BatchBytes || len(b.records) == maxBatch {
		o.ship(b)
	}
}

// flush sends what is open in every partition, and looks at the topic again.
func (o *out) flush() {
	for i := range o.open {
		if len(o.open[i].records) > 0 {
			o.ship(&o.open[i])
		}
	}
	o.look()
}

func (o *out) ship(b *openBatch) {
	o.a.w.deliver(parcel{n: o.a.next, part: b.part, records: b.records, bytes: b.bytes})
	b.room = min(maxBatch, len(b.records))
	b.records, b.bytes = nil, 0
}
