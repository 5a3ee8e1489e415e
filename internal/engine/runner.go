package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// A runner carries one task: its mailbox, its feeds and its place in the schedule. turn is called by one goroutine at a time;
// everything else may be called by any.
type runner struct {
	s    *session
	sub  *Sub
	t    *task.Task
	env  *TaskEnv
	name string
	ref  taskRef
	at   []connector.Position // of its inputs: where they began, then what was committed; "" is not known
	lift uint64               // by how much its checkpoints' numbers are greater than the session's: see number
	wg   sync.WaitGroup       // its feeds

	logged   *loggedTask // the Kafka commit log's part
	appender wire.Appender
	plain    wire.Appender // SinkAppender, when it is another
	feeds    []*feed
	carriers []*carrier      // of its outboxes
	gates    []*atomic.Int32 // outboxes that must not hold too much for it to go on
	prev     []*runner       // tasks that send to it
	cancel   context.CancelFunc

	box     *queue[message]
	msgs    []message
	barrier uint64    // begun and not passed
	began   time.Time // when it came; inputs from outside stand still from then on
	final   bool      // … and the last one of this task
	last    uint64    // the last one passed
	waiting bool      // for something outside, with a record that cannot be processed now
	paused  bool      // over its budget of state until a checkpoint is applied
	halted  bool      // it passed its last barrier

	leaving  atomic.Bool  // the next checkpoint is its last
	queued   atomic.Int64 // bytes pushed and not processed, local exchanges only
	parked   atomic.Bool  // waits for room downstream
	clockDue atomic.Int64
	stall    atomic.Int64  // the longest that a checkpoint has kept it from its input since a gauge showed it, in ns
	stalls   func(float64) // the histogram in place of that
	ended    atomic.Bool
	status   struct {
		sync.Mutex
		TaskStatus
	}
	lags  []int64 // by input; guarded by status
	place place
}

// A message is what a runner finds in its mailbox.
type message struct {
	kind  kind
	input int
	batch task.Batch
	n     uint64
	last  bool // of a barrier: nothing is processed behind it
	do    func()
}

type kind int8

const (
	aBatch   kind = iota // of an input
	anEnd                // of a bounded input
	aBarrier             // n begins
	anApply              // n is committed and applied
	aCall                // to run in the task's goroutine
)

// send puts a message into the mailbox and wakes the runner.
func (r *runner) send(m message) {
	r.box.put(m)
	r.s.wake(r)
}

// stepBudget is how many records a task processes before other tasks of its worker get their turn.
const stepBudget = 1024

// turn does what there is to do, for at most one budget of records, and reports whether there is more.
func (r *runner) turn() (more bool) {
	if err := r.receive(); err != nil {
		r.fail(err)
		return false
	}
	if err := r.t.Clock(r.s.now()); err != nil {
		r.fail(err)
		return false
	}
	if err := r.pass(); err != nil {
		r.fail(err)
		return false
	}
	done := 0
	if r.room() {
		var err error
		if done, err = r.t.Step(stepBudget); err != nil {
			r.fail(err)
			return false
		}
		if err := r.pass(); err != nil {
			r.fail(err)
			return false
		}
	}
	r.publish()
	return done > 0
}

// receive empties the mailbox.
func (r *runner) receive() error {
	r.msgs = r.box.take(r.msgs)
	for i, m := range r.msgs {
		switch m.kind {
		case aBatch:
			r.t.Inputs[m.input].Push(m.batch)
		case anEnd:
			r.t.Inputs[m.input].State().Finished = true
		case aBarrier:
			r.barrier = m.n
			r.final = m.last
			r.began = time.Now()
			r.t.Begin(m.n)
		case anApply:
			r.t.Applied(m.n)
			r.paused = false
		case aCall:
			if err := r.t.Do(m.do); err != nil {
				return err
			}
		}
		r.msgs[i] = message{}
	}
	return r.t.Err()
}

// room reports whether the task may take input: there is room downstream, in the writer, and in its budget of state.
func (r *runner) room() bool {
	full := false
	for _, o := range r.t.Outs {
		full = full || o.Pending() > exchangeBytes
	}
	r.parked.Store(full)
	if full { // look again: room may have come before the flag was there to see
		full = false
		for _, o := range r.t.Outs {
			full = full || o.Pending() > exchangeBytes
		}
	}
	// What lies before a barrier is processed: only a checkpoint gives memory back.
	return !full && (!r.paused && !r.shut() || r.barrier != 0) && !r.halted && !r.s.commits.full()
}

// exchangeBytes is how much may wait at one receiver of a local exchange before its senders stop.
const exchangeBytes = 1 << 20

// pass cuts the barrier that was begun, once it has arrived on every channel.
func (r *runner) pass() error {
	if r.barrier == 0 || !r.t.Aligned(r.barrier) {
		return nil
	}
	n := r.barrier
	r.barrier, r.last, r.halted = 0, n, r.final
	cut, err := r.t.Barrier(n)
	if err != nil {
		return err
	}
	handles := make([]connector.Handle, 0, len(r.t.Sinks))
	for _, s := range r.t.Sinks {
		h, err := s.Prepare(r.env.Context, n)
		if err != nil {
			return &errRecover{fmt.Errorf("task %s: sink %s: checkpoint %d: %w", r.name, s.Name(), n, err)}
		}
		handles = append(handles, h)
	}
	if err := r.s.commits.write(r, cut, handles); err != nil {
		return err
	}
	r.s.post(event{prepared: &prepared{r: r, cut: cut, handles: handles, last: r.halted}})
	r.stalled(time.Since(r.began))
	return nil
}

// publish shows the outside what has changed.
func (r *runner) publish() {
	queued := int64(0)
	for i, in := range r.t.Inputs {
		s := in.State()
		if s.Local {
			queued += s.Queued
		} else if f := r.feedOf(i); f != nil {
			f.consumed(s.Queued)
		}
	}
	before := r.queued.Swap(queued)
	if before > exchangeBytes && queued <= exchangeBytes || before > queued {
		for _, p := range r.prev {
			if p.parked.Load() {
				r.s.wake(p)
			}
		}
	}
	r.t.ShareState(r.env.StateBytes)
	if over := r.t.StateBytes(); over > r.env.StateBytes && !r.paused {
		r.paused = true
		r.s.post(event{early: true})
	}
	r.clockDue.Store(r.t.ClockDue())
	if r.t.Ended() && !r.ended.Swap(true) {
		r.s.post(event{ended: r})
	}
	r.show()
}

// beginsAt notes where its inputs are.
func (r *runner) beginsAt(rec *taskRecord) {
	r.at = make([]connector.Position, len(r.t.Inputs))
	if rec == nil {
		return
	}
	for i, in := range r.t.Inputs {
		r.at[i] = rec.position(in.State().Name)
	}
}

// moved notes where its inputs are committed, and reports whether one is further on than before. The session's loop calls it.
func (r *runner) moved(to []connector.Position) (moved bool) {
	for i, at := range to {
		moved = moved || r.at[i] != "" && r.at[i] != at
		r.at[i] = at
	}
	return moved
}

func (r *runner) feedOf(input int) *feed {
	for _, f := range r.feeds {
		if f.input == input {
			return f
		}
	}
	return nil
}

// waiter lets user code that met an outage wait in the task's goroutine, for half of what a task may hold up barriers.
func (r *runner) waiter() func(ms int64) bool {
	var waited time.Duration
	var passed uint64
	return func(ms int64) bool {
		d := time.Duration(ms) * time.Millisecond
		if passed != r.last {
			passed, waited = r.last, 0
		}
		if waited += d; waited > r.s.config.MaxTaskPause/2 {
			return false
		}
		select {
		case <-r.env.Context.Done():
			return false
		case <-time.After(d):
			return true
		}
	}
}

// outage shows what a record of the task waits for outside.
func (r *runner) outage() {
	err := r.t.Retrying()
	switch {
	case err != nil:
		r.s.pause("task "+r.name, err)
	case r.waiting:
		r.s.resume("task " + r.name)
	}
	r.waiting = err != nil
}

// show updates the task's status.
func (r *runner) show() {
	r.outage()
	st := TaskStatus{Task: r.name, State: "running", WaitsFor: r.t.WaitsFor(), Restored: 1}
	st.Watermark, st.HeldBy = r.t.Watermark()
	for _, in := range r.t.Inputs {
		st.Lag += in.State().Lag
		st.Processed += in.State().Processed
	}
	r.status.Lock()
	r.status.TaskStatus = st
	r.status.Outbox = r.outboxed()
	r.lags = r.lags[:0]
	for _, in := range r.t.Inputs {
		r.lags = append(r.lags, in.State().Lag+in.State().Queued)
	}
	r.status.Unlock()
}

func (r *runner) fail(err error) { r.s.post(event{failed: err}) }

// storeIndex is the place of a store among the sub-topology's.
func (r *runner) storeIndex(name string) int {
	return slices.IndexFunc(r.sub.Stores, func(st Store) bool { return st.Name == name })
}

// async makes a call beside the task, and runs what it returns in the task's goroutine. A driver makes it at once.
func (r *runner) async(call func(ctx context.Context) (done func())) {
	if !r.s.threaded {
		r.box.put(message{kind: aCall, do: call(r.env.Context)})
		return
	}
	r.wg.Go(func() { r.send(message{kind: aCall, do: call(r.env.Context)}) })
}

// stopFeeds ends reading; what was pushed is still processed.
func (r *runner) stopFeeds() {
	for _, f := range r.feeds {
		f.stop()
	}
}

// close ends the task's part of everything. No turn of it is running.
func (r *runner) close() error {
	r.cancel()
	r.wg.Wait()
	err := r.t.Stop()
	return errors.Join(err, r.abandon())
}

// abandon closes what a task holds, started or half made.
func (r *runner) abandon() error {
	if r.cancel != nil {
		r.cancel()
	}
	var errs []error
	for _, f := range r.feeds {
		f.close()
	}
	for _, c := range r.carriers {
		c.close()
	}
	if r.t != nil {
		for _, s := range r.t.Sinks {
			if err := s.Close(); err != nil {
				errs = append(errs, fmt.Errorf("task %s: close sink %s: %w", r.name, s.Name(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// closeAppenders ends the task's part in the commit log: everything it wrote was cut.
func (r *runner) closeAppenders() {
	if r.appender != nil {
		r.appender.Close()
	}
	if r.plain != nil {
		r.plain.Close()
	}
}
