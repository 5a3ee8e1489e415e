package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
)

// AsyncMapValues replaces each value by the result of a call that may wait. Calls in flight are part of a checkpoint as the
// records they came from: they are made again after a crash, so f must bear that.
func (s *Stream[K, V]) AsyncMapValues[V2 any](f func(ctx context.Context, k K, v V) (V2, error), how Async, opts ...Option) *Stream[K, V2] {
	o := plainOptions(opts)
	if o.name == "" {
		o.name = base(s.node) + "-async"
	}
	if how.MaxInFlight < 0 || how.Timeout < 0 || how.GiveUpAfter < 0 || how.Order < ByKey || how.Order > Unordered {
		s.b.problem(o.line, fmt.Errorf("Async %+v: no field may be negative, and Order is ByKey, ByInput or Unordered", how))
	}
	or(&how.MaxInFlight, 100)
	or(&how.Timeout, 10*time.Second)
	name := o.name + "-calls"
	op := &operator{headers: true, stores: []storeSpec{{name: name, changelog: true}}, bind: bindRows(s.key, s.value)}
	op.make = func(in *instance) any {
		b := bound[*rowSerdes[K, V]](in)
		a := &asyncCalls[K, V, V2]{in: in, f: f, how: how, serdes: b, next: outs[K, V2](in), node: in.self(), reject: in.rejection(),
			store:  openStore(in, "calls", name, serde.Bytes, callSerde[K, V]{b.key, b.value}, false, nil, false),
			queues: map[string][]*call[K, V, V2]{}}
		a.node.Hooks = task.Hooks{Start: a.start, Barrier: a.barrier, Clock: a.clock}
		return a.receive
	}
	n := s.b.add("async-map-values", o, op, at(s.node))
	n.Stores = []string{name}
	return then[K, V, K, V2](s, n, s.rekeyed)
}

// Async bounds AsyncMapValues.
type Async struct {
	MaxInFlight int           // per task. Default 100
	Timeout     time.Duration // per call; exceeding it is transient. Default 10 s
	GiveUpAfter time.Duration // transient errors become data errors after this. Default 0: never
	Order       Order         // default ByKey
}

// Order is the order of results.
type Order int

// ByKey keeps the order of records of one key, ByInput of all, Unordered of none.
const (
	ByKey Order = iota
	ByInput
	Unordered
)

// asyncCalls are the calls of one task. Results are emitted in the task's goroutine, in the order that was asked for.
type asyncCalls[K, V, V2 any] struct {
	in      *instance
	f       func(ctx context.Context, k K, v V) (V2, error)
	how     Async
	serdes  *rowSerdes[K, V]
	next    recv[K, V2]
	node    *task.Node
	reject  rejection
	store   *overlay.Store[callRow[K, V]]
	pending []*call[K, V, V2]            // in the order of input
	queues  map[string][]*call[K, V, V2] // ByKey: those of one key
	seq     int64
	stored  int64 // calls up to this were pending at a checkpoint
	gone    [][]byte
	full    bool
	buf     []byte
}

// A call is one record that waits for its result.
type call[K, V, V2 any] struct {
	row     callRow[K, V]
	queue   string // its key's bytes, where order is by key
	result  V2
	err     error
	stack   []byte
	settled bool
	since   int64 // when it was first made, by the wall clock
	tries   int
	retry   int64 // when it is made again; 0 while it is in flight
}

func (a *asyncCalls[K, V, V2]) receive(c *task.Context, k K, v V) {
	a.seq++
	a.add(callRow[K, V]{seq: a.seq, k: k, v: v, time: c.Time, headers: c.Headers, origin: c.Origin, noKey: c.NoKey})
}

// add makes a record's call.
func (a *asyncCalls[K, V, V2]) add(row callRow[K, V]) {
	cl := &call[K, V, V2]{row: row, since: a.node.Task().Now()}
	a.pending = append(a.pending, cl)
	a.node.Task().Busy(1)
	if a.how.Order == ByKey {
		b, err := a.serdes.key.Append(a.buf[:0], row.k)
		a.buf = b
		if err == nil {
			cl.queue = string(b)
		}
		a.queues[cl.queue] = append(a.queues[cl.queue], cl)
	}
	a.make(cl)
	a.room()
}

// make makes the call beside the task.
func (a *asyncCalls[K, V, V2]) make(cl *call[K, V, V2]) {
	cl.retry = 0
	a.in.env.Async(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, a.how.Timeout)
		defer cancel()
		v, err, stack := safely(ctx, a.f, cl.row.k, cl.row.v)
		if err != nil && ctx.Err() != nil {
			err = Transient(fmt.Errorf("no answer in %v: %w", a.how.Timeout, err))
		}
		return func() { a.answered(cl, v, err, stack) }
	})
}

// safely turns a panic of a call into an error.
//
//lint:ignore ST1008 the stack belongs to the error
func safely[K, V, V2 any](ctx context.Context, f func(context.Context, K, V) (V2, error), k K, v V) (r V2, err error, stack []byte) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case rejected:
			err = p.err
		default:
			err, stack = fmt.Errorf("panic: %v", p), debug.Stack()
		}
	}()
	r, err = f(ctx, k, v)
	return r, err, nil
}

// The time between two tries of a call whose error is transient.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// answered takes the result of a call in the task's goroutine.
func (a *asyncCalls[K, V, V2]) answered(cl *call[K, V, V2], v V2, err error, stack []byte) {
	now := a.node.Task().Now()
	var t *transient
	if errors.As(err, &t) && (a.how.GiveUpAfter == 0 || now-cl.since < a.how.GiveUpAfter.Milliseconds()) {
		wait := min(firstRetry<<min(cl.tries, 10), lastRetry)
		cl.tries++
		cl.retry = now + wait.Milliseconds()
		a.node.AtClock(cl.retry)
		return
	}
	if t != nil {
		err = fmt.Errorf("given up after %v: %w", a.how.GiveUpAfter, t.err)
	}
	cl.result, cl.err, cl.stack, cl.settled = v, err, stack, true
	a.release(cl)
	a.room()
}

// clock makes calls again whose time has come.
func (a *asyncCalls[K, V, V2]) clock(now int64) {
	for _, cl := range a.pending {
		switch {
		case cl.retry == 0:
		case cl.retry <= now:
			a.make(cl)
		default:
			a.node.AtClock(cl.retry)
		}
	}
}

// release emits what may be emitted now that cl is settled.
func (a *asyncCalls[K, V, V2]) release(cl *call[K, V, V2]) {
	switch a.how.Order {
	case Unordered:
		a.emit(cl)
	case ByKey:
		q := a.queues[cl.queue]
		for len(q) > 0 && q[0].settled {
			a.emit(q[0])
			q = q[1:]
		}
		if a.queues[cl.queue] = q; len(q) == 0 {
			delete(a.queues, cl.queue)
		}
	case ByInput:
		for len(a.pending) > 0 && a.pending[0].settled {
			a.emit(a.pending[0])
		}
	}
}

// emit sends a result on as the record that asked for it, and forgets the call.
func (a *asyncCalls[K, V, V2]) emit(cl *call[K, V, V2]) {
	for i, p := range a.pending {
		if p == cl {
			a.pending = append(a.pending[:i], a.pending[i+1:]...)
			a.node.Task().Busy(-1)
			break
		}
	}
	if cl.row.seq <= a.stored {
		a.gone = append(a.gone, keys.AppendTime(nil, cl.row.seq))
	}
	c := &a.in.task.Context
	saved := *c
	c.Time, c.Headers, c.Origin, c.NoKey, c.Fault, c.Raw = cl.row.time, cl.row.headers, cl.row.origin, cl.row.noKey, a.node, nil
	if cl.err != nil {
		a.reject(c, cl.err, cl.stack)
	} else {
		a.next(c, cl.row.k, cl.result)
	}
	*c = saved
}

// room tells the task whether another call may be made, and how far event time is held back.
func (a *asyncCalls[K, V, V2]) room() {
	if full := len(a.pending) >= a.how.MaxInFlight; full != a.full {
		a.full = full
		if full {
			a.node.Task().Full(1)
		} else {
			a.node.Task().Full(-1)
		}
	}
	hold := int64(task.MaxTime)
	for _, cl := range a.pending {
		hold = min(hold, cl.row.time)
	}
	a.node.Hold(hold)
}

// barrier stores the records whose calls are in flight, and forgets those that were and are not any more.
func (a *asyncCalls[K, V, V2]) barrier() {
	for _, key := range a.gone {
		a.store.Remove(a.store.Entry(key))
	}
	a.gone = nil
	for _, cl := range a.pending {
		if cl.row.seq > a.stored {
			a.store.Put(keys.AppendTime(nil, cl.row.seq), cl.row)
		}
	}
	a.stored = a.seq
}

// start makes the calls again that were in flight at the last checkpoint.
func (a *asyncCalls[K, V, V2]) start() error {
	var rows []callRow[K, V]
	for key, row := range a.store.Range(nil, nil) {
		seq, _, err := keys.CutTime(key)
		if err != nil {
			return fmt.Errorf("stored call %q: %w", key, err)
		}
		row.seq = seq
		rows = append(rows, row)
	}
	for _, row := range rows {
		a.seq, a.stored = row.seq, row.seq
		a.add(row)
	}
	return nil
}

// A callRow is a record whose call is in flight.
type callRow[K, V any] struct {
	seq     int64
	k       K
	v       V
	time    int64
	headers connector.Headers
	origin  connector.Origin
	noKey   bool
}
