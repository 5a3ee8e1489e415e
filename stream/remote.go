package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// A remoteOut is the sending end of an exchange through the cluster, in one task. Beside records it writes how far event time is
// upstream: a record without a value, which no record of the stream is.
type remoteOut[K, V any] struct {
	in     *instance
	name   string
	node   *task.Node
	out    wire.Out
	serdes *exchangeSerdes[K, V]
	reject rejection
	key    []byte
	value  []byte
	from   int

	sent     task.Mark // the last mark that was written
	sentAt   int64     // and when, by the wall clock
	interval int64
	idle     []bool  // partitions whose last mark was an idle one
	told     []int64 // by partition, how far a record was told that event time was
	patience int64   // a record that is no further behind needs not be told
}

func (o *remoteOut[K, V]) receive(c *task.Context, k K, v V) {
	c.Fault = o.node
	var err error
	var key []byte
	if !c.NoKey {
		if o.key, err = o.serdes.key.Append(o.key[:0], k); err != nil {
			o.reject(c, fmt.Errorf("key of repartition %s: %w", o.name, err), nil)
			return
		}
		if o.key == nil { // the only key of a type without bytes is a key, and null is none
			o.key = []byte{}
		}
		key = o.key
	}
	if err := o.encode(key, v); err != nil {
		o.reject(c, err, nil)
		b, ok := any(v).(interface{ bare() V })
		if !ok || o.encode(key, b.bare()) != nil {
			return
		}
	}
	p := int32(o.from % len(o.idle))
	if key != nil {
		p = partition.Of(key, int32(len(o.idle)))
	}
	if o.idle[p] { // active again before the record is there
		o.idle[p] = false
		active := o.sent
		active.Idle = false
		o.out.Append(p, c.Time, appendMark(nil, o.from, active), nil, nil)
	}
	if w := behind(c, o.node, o.patience); w > o.told[p] {
		o.told[p] = w
		if w > o.sent.W {
			o.out.Append(p, c.Time, appendMark(nil, o.from, task.Mark{W: w}), nil, nil)
		}
	}
	if o.value == nil {
		o.value = []byte{}
	}
	c.Effects++
	o.out.Append(p, c.Time, key, o.value, c.Headers)
}

// encode makes the bytes of a record's value, which its topic must take with the key.
func (o *remoteOut[K, V]) encode(key []byte, v V) (err error) {
	if o.value, err = o.serdes.value.Append(o.value[:0], v); err != nil {
		return fmt.Errorf("value of repartition %s: %w", o.name, err)
	}
	if most := o.out.MaxBytes(); len(key)+len(o.value) > most {
		return fmt.Errorf("repartition %s: the record has %d bytes, and its topic takes %d", o.name, len(key)+len(o.value), most)
	}
	return nil
}

// behind is how far event time is at an exchange, for a record that is further behind than everybody behind the exchange has patience; MinTime for any
// other. Whether such a record is late for somebody must not depend on whether a batch or a checkpoint happened to end before it, so it tells.
func behind(c *task.Context, exchange *task.Node, patience int64) int64 {
	if w := exchange.In(); span.Add(c.Time, patience) < w && w != task.MaxTime {
		return w
	}
	return task.MinTime
}

// Flush has nothing to do: records are on their way, and marks go with barriers.
func (o *remoteOut[K, V]) Flush() {}

// Pending is 0: the writer says when it is full.
func (o *remoteOut[K, V]) Pending() int64 { return 0 }

// Barrier writes how far event time is, when it has moved, at most once an interval.
func (o *remoteOut[K, V]) Barrier(uint64) {
	mark := o.node.From()
	now := o.node.Task().Now()
	if mark == o.sent || mark.W == task.MinTime && !mark.Idle || now-o.sentAt < o.interval && !mark.Ended && o.sent.W != task.MinTime {
		return
	}
	o.sent, o.sentAt = mark, now
	o.key = appendMark(o.key[:0], o.from, mark)
	for p := range o.idle {
		o.idle[p] = mark.Idle
		o.out.Append(int32(p), now, o.key, nil, nil)
	}
}

// markVersion is the first byte of a mark on its way through a topic.
const markVersion = 1

func appendMark(b []byte, from int, m task.Mark) []byte {
	flags := byte(0)
	if m.Idle {
		flags |= 1
	}
	if m.Ended {
		flags |= 2
	}
	b = binary.AppendUvarint(append(b, markVersion, flags), uint64(from))
	return binary.AppendVarint(b, m.W)
}

var errBadMark = errors.New("a watermark in a repartition topic is damaged")

func decodeMark(b []byte) (from int, m task.Mark, err error) {
	if len(b) < 4 || b[0] != markVersion {
		return 0, m, errBadMark
	}
	m.Idle, m.Ended = b[1]&1 != 0, b[1]&2 != 0
	n, used := binary.Uvarint(b[2:])
	if used <= 0 {
		return 0, m, errBadMark
	}
	var read int
	if m.W, read = binary.Varint(b[2+used:]); read <= 0 {
		return 0, m, errBadMark
	}
	m.High = m.W
	return int(n), m, nil
}

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
	var k K
	var err error
	if rec.Key != nil {
		if k, err = r.serdes.key.Decode(rec.Key); err != nil {
			r.reject(c, fmt.Errorf("key: %w", err), nil)
			return
		}
	}
	v, err := r.serdes.value.Decode(rec.Value)
	if err != nil {
		r.reject(c, fmt.Errorf("value: %w", err), nil)
		return
	}
	r.next(c, k, v)
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
