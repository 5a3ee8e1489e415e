package stream

import (
	"fmt"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// An item is a record in a local exchange.
type item[K, V any] struct {
	k       K
	v       V
	time    int64
	after   int64 // how far event time was upstream, if the record is behind that
	headers connector.Headers
	noKey   bool
}

// A localBatch is what one task sends another: records, then how far event time is upstream, then perhaps a barrier.
type localBatch[K, V any] struct {
	from    int // the sending task's partition: the channel
	items   []item[K, V]
	mark    task.Mark
	barrier uint64
}

func (b *localBatch[K, V]) Len() int   { return len(b.items) }
func (b *localBatch[K, V]) Bytes() int { return recordBytes * len(b.items) }

// A localOut is the sending end of a local exchange in one task. Records go to the partition that Kafka's own partitioner gives
// their key, so that state does not depend on the exchange.
type localOut[K, V any] struct {
	in      *instance
	name    string
	node    *task.Node
	key     serde.Serde[K]
	reject  rejection
	pending [][]item[K, V] // by partition
	sent    task.Mark
	buf     []byte
	from    int
	size    int

	patience int64 // a record that is no further behind needs not be told
}

// localBatchSize is how many records are collected for one partition before they are sent.
const localBatchSize = 512

func (o *localOut[K, V]) receive(c *task.Context, k K, v V) {
	p := 0
	if len(o.pending) > 1 {
		b, err := o.key.Append(o.buf[:0], k)
		if err != nil {
			c.Fault = o.node
			o.reject(c, fmt.Errorf("key of repartition %s: %w", o.name, err), nil)
			return
		}
		o.buf = b
		p = int(partition.Of(b, int32(len(o.pending))))
	}
	if o.pending[p] == nil {
		o.pending[p] = make([]item[K, V], 0, o.size)
	}
	c.Effects++
	o.pending[p] = append(o.pending[p], item[K, V]{k, v, c.Time, behind(c, o.node, o.patience), c.Headers, c.NoKey})
	if len(o.pending[p]) >= localBatchSize {
		o.send(p, 0)
	}
}

func (o *localOut[K, V]) send(p int, barrier uint64) {
	items := o.pending[p]
	o.pending[p] = nil
	o.size = max(16, min(localBatchSize, 2*len(items)))
	o.in.env.Send(o.name, p, &localBatch[K, V]{o.from, items, o.sent, barrier})
}

// Flush sends what was collected. A partition that got nothing hears of event time all the same, when it moved.
func (o *localOut[K, V]) Flush() {
	mark := o.node.From()
	moved := mark != o.sent
	o.sent = mark
	for p := range o.pending {
		if moved || len(o.pending[p]) > 0 {
			o.send(p, 0)
		}
	}
}

// Barrier sends barrier n down every channel.
func (o *localOut[K, V]) Barrier(n uint64) {
	o.sent = o.node.From()
	for p := range o.pending {
		o.send(p, n)
	}
}

func (o *localOut[K, V]) Pending() int64 { return o.in.env.Pending(o.name) }

// A localIn is the receiving end: a channel per sending task, each in order.
type localIn[K, V any] struct {
	state    task.InputState
	task     *task.Task
	node     *task.Node
	next     recv[K, V]
	name     string
	channels []channel[K, V]
	marks    []*task.Mark
	current  int // channel of the earliest record
	near     lookout[K]
	serdes   *exchangeSerdes[K, V]
}

// A channel is what one task sent.
type channel[K, V any] struct {
	queue   []*localBatch[K, V]
	i       int
	seen    int // so far was looked ahead in the batch
	mark    task.Mark
	barrier uint64 // it delivered this one, and is not read on until all have
}

func newLocalIn[K, V any](in *instance, name string, senders int) *localIn[K, V] {
	l := &localIn[K, V]{task: in.task, node: in.self(), name: name, channels: make([]channel[K, V], senders), serdes: bound[*exchangeSerdes[K, V]](in)}
	l.state = task.InputState{Mark: task.NewMark(), Name: name, Local: true}
	for i := range l.channels {
		l.channels[i].mark = task.NewMark()
		l.marks = append(l.marks, &l.channels[i].mark)
	}
	return l
}

func (l *localIn[K, V]) State() *task.InputState      { return &l.state }
func (l *localIn[K, V]) Position() connector.Position { return "" }
func (l *localIn[K, V]) Restart(connector.Position)   {}

// Push takes a batch of one channel.
func (l *localIn[K, V]) Push(b task.Batch) {
	lb := b.(*localBatch[K, V])
	l.state.Queued += int64(lb.Bytes())
	c := &l.channels[lb.from]
	c.queue = append(c.queue, lb)
	if c.mark.Idle && len(lb.items) > 0 {
		c.mark.Idle = false // active again before its next record is delivered
		l.advance()
	}
	l.settle(c)
}

// settle takes from a channel what needs no processing: marks and barriers at its front.
func (l *localIn[K, V]) settle(c *channel[K, V]) {
	moved := false
	for c.barrier == 0 && len(c.queue) > 0 && c.i >= len(c.queue[0].items) {
		b := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		c.i, c.seen = 0, 0
		l.state.Queued -= int64(b.Bytes())
		c.mark, c.barrier = b.mark, b.barrier
		moved = true
	}
	if moved {
		l.advance()
	}
}

// advance is the input's mark: the combination of those of its channels.
func (l *localIn[K, V]) advance() {
	w := max(l.state.W, task.Combine(l.marks))
	l.state.Idle, l.state.Ended = task.Quiet(l.marks)
	l.state.W = w
	l.state.High = max(l.state.High, w)
}

// Head finds the channel whose next record is the earliest.
func (l *localIn[K, V]) Head() (int64, bool) {
	first, ok := int64(0), false
	for i := range l.channels {
		c := &l.channels[i]
		if c.barrier != 0 || len(c.queue) == 0 {
			continue
		}
		if t := c.queue[0].items[c.i].time; !ok || t < first {
			first, ok, l.current = t, true, i
		}
	}
	return first, ok
}

// Run takes records, a channel's batch at a time: among channels the order is that of time only at the boundaries of batches.
func (l *localIn[K, V]) Run(until int64, budget int) (done int) {
	ctx := &l.task.Context
	for done < budget && !l.task.IsFull() {
		if _, ok := l.Head(); !ok {
			break
		}
		c := &l.channels[l.current]
		b := c.queue[0]
		for c.i < len(b.items) && done < budget && !l.task.IsFull() {
			it := &b.items[c.i]
			if it.time > until {
				return done
			}
			if l.near.ahead != nil && c.i >= c.seen {
				l.look(c)
			}
			if it.after > c.mark.W {
				c.mark.W = it.after
				l.advance()
				l.task.Advance()
			}
			ctx.Time, ctx.Headers, ctx.NoKey = it.time, it.headers, it.noKey
			ctx.Origin = connector.Origin{Topic: l.name, Partition: int32(l.task.Partition), Offset: -1}
			ctx.Fault, ctx.Raw = l.node, l
			ctx.Begin()
			l.next(ctx, it.k, it.v)
			c.i++
			done++
			l.state.Processed++
		}
		before := l.state.W
		l.settle(c)
		if l.state.W > before {
			l.task.Advance()
		}
	}
	return done
}

// look tells of the records of a channel that come next.
func (l *localIn[K, V]) look(c *channel[K, V]) {
	b := c.queue[0]
	c.seen = min(c.i+overlay.Ahead, len(b.items))
	for i := c.i; i < c.seen; i++ {
		if it := &b.items[i]; !it.noKey {
			l.near.note(it.k, it.time)
		}
	}
	l.near.tell()
}

// Raw is for dead letters: the record at hand never had bytes, so it gets those it would have in a repartition topic.
func (l *localIn[K, V]) Raw() (key, value []byte) {
	c := &l.channels[l.current]
	if len(c.queue) == 0 || c.i >= len(c.queue[0].items) {
		return nil, nil
	}
	it := &c.queue[0].items[c.i]
	if !it.noKey {
		key, _ = l.serdes.key.Append([]byte{}, it.k) // what has no bytes is a null in the letter
	}
	value, _ = l.serdes.value.Append([]byte{}, it.v)
	return key, value
}

func (l *localIn[K, V]) Aligned(n uint64) bool {
	for i := range l.channels {
		if l.channels[i].barrier < n {
			return false
		}
	}
	return true
}

// Pass lets the channels go on behind barrier n.
func (l *localIn[K, V]) Pass(uint64) {
	for i := range l.channels {
		l.channels[i].barrier = 0
	}
	for i := range l.channels {
		l.settle(&l.channels[i])
	}
}
