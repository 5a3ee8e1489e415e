package stream

import (
	"cmp"
	"fmt"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
)

// An input is the typed loop over one partition of a source.
type input[K, V any] struct {
	state     task.InputState
	task      *task.Task
	node      *task.Node
	maxFuture int64 // ms ahead of the wall clock; negative: no bound
	next      recv[K, V]
	row       func(c *task.Context, r *Record[K, V]) // instead of next, for tables: deletions included
	reject    rejection
	nulls     func(int64)
	placed    *placement // nil: nobody cares

	queue []*sourceBatch[K, V]
	i     int // of the next record in queue[0]
	near  nearby[K, V]
	head  *decoded[K, V]     // the next record, when it may be processed
	time  int64              // of it, or of the record before
	again bool               // it was given to the chain, which has not taken it: what it has may have been changed
	pos   connector.Position // where the last finished batch ended
}

func (in *input[K, V]) State() *task.InputState { return &in.state }

// Restart says where reading goes on.
func (in *input[K, V]) Restart(at connector.Position) { in.pos = at }

func (in *input[K, V]) Aligned(uint64) bool { return true }
func (in *input[K, V]) Pass(uint64)         {}

// Push takes a batch. An empty one is news of the partition's state.
func (in *input[K, V]) Push(b task.Batch) {
	sb := b.(*sourceBatch[K, V])
	s := sb.State()
	in.state.Unheard, in.state.More, in.state.AtEnd, in.state.Lag = false, s.More, s.AtEnd, s.Lag
	if sb.Len() == 0 && len(in.queue) == 0 {
		in.finish(sb)
		return
	}
	if sb.Len() > 0 {
		in.state.Took(sb.Bytes())
		if in.placed != nil {
			in.placed.look(sb)
		}
	}
	in.queue = append(in.queue, sb)
}

// finish ends a batch.
func (in *input[K, V]) finish(b *sourceBatch[K, V]) {
	if end := b.End(); end != "" {
		in.pos = end
	}
	b.Release()
}

// Head decodes the next record to learn its time. Records that a policy rejects are skipped on the way.
func (in *input[K, V]) Head() (int64, bool) {
	if in.state.Blocked() {
		return 0, false
	}
	for len(in.queue) > 0 {
		b := in.queue[0]
		for in.i < b.Len() {
			if in.head != nil || in.ready(b) {
				return in.head.time, true
			}
			in.i++
		}
		in.pop()
	}
	return 0, false
}

// pop ends the first batch of the queue.
func (in *input[K, V]) pop() {
	b := in.queue[0]
	in.queue[0] = nil
	in.queue = in.queue[1:]
	if b.Len() > 0 {
		in.state.Queued -= int64(b.Bytes())
	}
	in.i = 0
	in.near.drop()
	in.finish(b)
}

// ready decodes the next record where need be, and checks its time. It reports false when the record was rejected.
func (in *input[K, V]) ready(b *sourceBatch[K, V]) bool {
	r := in.near.at(b, in.i, in.again)
	in.again = false
	err := r.err
	if err == nil && in.maxFuture >= 0 && r.time > in.task.Now()+in.maxFuture {
		err = fmt.Errorf("%w: %v is more than %v ahead of the clock", ErrFuture, r.Time.UTC(), time.Duration(in.maxFuture)*time.Millisecond)
	}
	if r.Time.IsZero() && r.err != nil { // a letter of 1970 would be gone from its topic at once
		r.time = cmp.Or(in.time, in.task.Now())
	}
	in.time = r.time
	if err != nil {
		in.enter(r)
		in.again = true // if it comes back from an outage
		in.reject(&in.task.Context, err, nil)
		in.again = false
		return false
	}
	in.head = r
	return true
}

// enter makes a record the one at hand.
func (in *input[K, V]) enter(r *decoded[K, V]) {
	c := &in.task.Context
	c.Time, c.Headers, c.Origin, c.NoKey = r.time, r.Headers, r.Origin, r.NoKey
	c.Fault, c.Raw = in.node, in
	c.Begin()
}

// Run processes records.
func (in *input[K, V]) Run(until int64, budget int) (done int) {
	c := &in.task.Context
	for done < budget && !in.task.IsFull() {
		if in.head == nil {
			if _, ok := in.Head(); !ok {
				break
			}
		}
		r := in.head
		if r.time > until {
			break
		}
		in.task.Observe(&in.state, r.time)
		in.enter(r)
		in.head, in.again = nil, true
		switch {
		case in.row != nil:
			in.row(c, &r.Record)
		case r.Deleted:
			in.nulls(1)
		default:
			in.next(c, r.Key, r.Value)
		}
		in.again = false
		in.i++
		in.state.Processed++
		done++
	}
	if len(in.queue) > 0 && in.i >= in.queue[0].Len() {
		in.pop()
	}
	return done
}

// Position is where to read on.
func (in *input[K, V]) Position() connector.Position {
	if in.i > 0 && len(in.queue) > 0 {
		return in.queue[0].Position(in.i - 1)
	}
	return in.pos
}

// Raw is for dead letters.
func (in *input[K, V]) Raw() (key, value []byte) {
	if len(in.queue) == 0 {
		return nil, nil
	}
	return in.queue[0].Raw(in.i)
}
