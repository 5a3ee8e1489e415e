package stream

import (
	"context"
	"fmt"
	"strconv"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// A rawBatch is a batch of an exchange's topic.
type rawBatch struct{ *wire.Batch }

func (b rawBatch) Len() int                { return len(b.Records) }
func (b rawBatch) Bytes() int              { return b.Batch.Bytes }
func (b rawBatch) End() connector.Position { return offsetPosition(b.Next) }

func offsetPosition(offset int64) connector.Position {
	return connector.Position(strconv.FormatInt(offset, 10))
}

// A rawReader reads an exchange's topic for the engine.
type rawReader struct{ r wire.Reader }

func (r rawReader) Next(ctx context.Context) (task.Batch, error) {
	b, err := r.r.Next(ctx)
	if err != nil {
		return nil, err
	}
	return rawBatch{b}, nil
}

func (r rawReader) Close() error { return r.r.Close() }

// openExchange reads one partition of an exchange's topic.
func openExchange(ctx context.Context, env connector.Env, topic string, p int, from connector.Position) (task.Reader, error) {
	at := wire.TopicPartition{Topic: topic, Partition: int32(p)}
	var offset int64
	var err error
	if from != "" {
		if offset, err = strconv.ParseInt(string(from), 10, 64); err != nil {
			return nil, fmt.Errorf("position %q: %w", from, err)
		}
	} else {
		starts, err := env.Log.List(ctx, wire.Start, []wire.TopicPartition{at})
		if err != nil {
			return nil, err
		}
		offset = starts[at]
	}
	r, err := env.Log.Read(ctx, at, offset, wire.ReadOptions{Committed: true, Headers: true})
	return rawReader{r}, err
}

// A remoteIn is the receiving end of an exchange through the cluster.
type remoteIn[K, V any] struct {
	state  task.InputState
	task   *task.Task
	node   *task.Node
	next   recv[K, V]
	name   string
	serdes *exchangeSerdes[K, V]
	reject rejection
	marks  []*task.Mark // by upstream task

	queue []rawBatch
	i     int
	near  nearby[K, V]
	again bool // the record at i was given to the chain, which has not taken it
	pos   connector.Position
}

func newRemoteIn[K, V any](in *instance, name string, senders int) *remoteIn[K, V] {
	r := &remoteIn[K, V]{task: in.task, node: in.self(), name: name, serdes: bound[*exchangeSerdes[K, V]](in), reject: in.rejection()}
	r.state = task.InputState{Mark: task.NewMark(), Name: name}
	for range senders {
		m := task.NewMark()
		r.marks = append(r.marks, &m)
	}
	return r
}

// Marks implements task.Gathering.
func (r *remoteIn[K, V]) Marks() []task.Mark {
	all := make([]task.Mark, len(r.marks))
	for i, m := range r.marks {
		all[i] = *m
	}
	return all
}

// RestoreMarks implements task.Gathering.
func (r *remoteIn[K, V]) RestoreMarks(marks []task.Mark) {
	for i := range min(len(marks), len(r.marks)) {
		*r.marks[i] = marks[i]
	}
	r.state.Idle, r.state.Ended = task.Quiet(r.marks)
}

func (r *remoteIn[K, V]) State() *task.InputState       { return &r.state }
func (r *remoteIn[K, V]) Restart(at connector.Position) { r.pos = at }
func (r *remoteIn[K, V]) Aligned(uint64) bool           { return true }
func (r *remoteIn[K, V]) Pass(uint64)                   {}

// Push takes a batch. An empty one is news of the partition's state.
func (r *remoteIn[K, V]) Push(b task.Batch) {
	rb := b.(rawBatch)
	r.state.Unheard, r.state.More, r.state.Lag = false, rb.Next < rb.Stable, max(0, rb.High-rb.Next)
	if rb.Len() == 0 && len(r.queue) == 0 {
		r.pos = rb.End()
		rb.Release()
		return
	}
	if rb.Len() > 0 {
		r.state.Queued += int64(rb.Bytes())
	}
	r.queue = append(r.queue, rb)
}

// Head is the time of the next record. Marks before it are taken on the way.
func (r *remoteIn[K, V]) Head() (int64, bool) {
	if r.state.Blocked() {
		return 0, false
	}
	for len(r.queue) > 0 {
		b := r.queue[0]
		for r.i < b.Len() {
			rec := &b.Records[r.i]
			if rec.Value != nil {
				return rec.Time, true
			}
			r.mark(rec)
			r.i++
		}
		r.pop()
	}
	return 0, false
}

// mark takes a watermark record.
func (r *remoteIn[K, V]) mark(rec *wire.Record) {
	from, m, err := decodeMark(rec.Key)
	if err == nil && from >= len(r.marks) {
		err = fmt.Errorf("a watermark of upstream task %d, of %d: its topology is another", from, len(r.marks))
	}
	if err != nil {
		panic(task.Failure{Err: fmt.Errorf("repartition %s/%d@%d: %w", r.name, r.task.Partition, rec.Offset, err)})
	}
	m.W = max(m.W, r.marks[from].W) // a replay may repeat an older one
	*r.marks[from] = m
	w := max(r.state.W, task.Combine(r.marks))
	moved := w > r.state.W
	r.state.Idle, r.state.Ended = task.Quiet(r.marks)
	r.state.W, r.state.High = w, max(r.state.High, w)
	if moved {
		r.task.Advance()
	}
}

func (r *remoteIn[K, V]) pop() {
	b := r.queue[0]
	r.queue[0] = rawBatch{}
	r.queue = r.queue[1:]
	if b.Len() > 0 {
		r.state.Queued -= int64(b.Bytes())
	}
	r.i = 0
	r.near.drop()
	r.pos = b.End()
	b.Release()
}

// Run processes records.
func (r *remoteIn[K, V]) Run(until int64, budget int) (done int) {
	for done < budget && !r.task.IsFull() {
		at, ok := r.Head()
		if !ok || at > until {
			break
		}
		rec := &r.queue[0].Records[r.i]
		r.process(rec)
		r.i++
		r.state.Processed++
		done++
	}
	r.Head() // marks behind the last record, and the end of the batch
	return done
}

func (r *remoteIn[K, V]) process(rec *wire.Record) {
	c := &r.task.Context
	c.Time, c.Headers, c.NoKey = rec.Time, rec.Headers, rec.Key == nil
	c.Origin = connector.Origin{Topic: r.name, Partition: int32(r.task.Partition), Offset: rec.Offset}
	c.Fault, c.Raw = r.node, r
	c.Begin()
	d := r.near.at(r, r.i, r.again)
	r.again = true
	if d.err != nil {
		r.reject(c, d.err, nil)
	} else {
		r.next(c, d.Key, d.Value)
	}
	r.again = false
}

// Len is how many records the first batch has, marks among them.
func (r *remoteIn[K, V]) Len() int { return r.queue[0].Len() }

// decode decodes record i of the first batch. A mark has neither key nor value.
func (r *remoteIn[K, V]) decode(i int, d *decoded[K, V]) {
	*d = decoded[K, V]{}
	rec := &r.queue[0].Records[i]
	if d.NoKey = rec.Key == nil || rec.Value == nil; rec.Value == nil {
		return
	}
	d.time = rec.Time
	if rec.Key != nil {
		if d.Key, d.err = r.serdes.key.Decode(rec.Key); d.err != nil {
			d.err = fmt.Errorf("key: %w", d.err)
			return
		}
	}
	if d.Value, d.err = r.serdes.value.Decode(rec.Value); d.err != nil {
		d.err = fmt.Errorf("value: %w", d.err)
	}
}

// Position is where to read on.
func (r *remoteIn[K, V]) Position() connector.Position {
	if r.i > 0 && len(r.queue) > 0 {
		return offsetPosition(r.queue[0].Records[r.i-1].Offset + 1)
	}
	return r.pos
}

// Raw is for dead letters.
func (r *remoteIn[K, V]) Raw() (key, value []byte) {
	if len(r.queue) == 0 || r.i >= r.queue[0].Len() {
		return nil, nil
	}
	rec := &r.queue[0].Records[r.i]
	return rec.Key, rec.Value
}
