package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
)

// A Task runs one sub-topology over one partition of each of its inputs.
type Task struct {
	Name      string
	Partition int
	Context   Context

	UserContext context.Context // ends with the task: for user functions that make calls

	Inputs []Input
	Nodes  []*Node // upstream first
	Stores []Store // in the order they were declared
	Outs   []Out   // local exchanges
	Sinks  []Sink

	// Explain makes an error of a panic in user code; nil: a plain one.
	Explain func(p any, stack []byte) error
	// Wait lets the task's goroutine wait for so many ms, and reports false when it must not any more; nil: it cannot.
	Wait func(ms int64) bool

	retry    retry
	due      int64 // the watermark at which some node has something to do
	clockDue int64
	now      int64 // the wall clock as of the last call of Clock
	walking  bool  // hooks run, in the order of nodes
	err      error
	full     int // operators without room
	busy     int // calls in flight
}

// New returns an empty task; package stream fills it.
func New(name string, partition int) *Task {
	return &Task{Name: name, Partition: partition, due: MaxTime, clockDue: MaxTime}
}

// AddNode gives an operator its place in the walk. Nodes are added upstream first; parents are the nodes it follows.
func (t *Task) AddNode(name string, parents []*Node) *Node {
	n := &Node{Name: name, task: t, parents: parents, in: MinTime, out: NewMark(), hold: MaxTime, next: MaxTime, clockNext: MaxTime}
	t.Nodes = append(t.Nodes, n)
	return n
}

// AddInput makes n the node of an input.
func (t *Task) AddInput(n *Node, in Input) {
	n.from, n.up = []*Mark{&in.State().Mark}, []*Node{nil}
	n.table = in.State().Table
	t.Inputs = append(t.Inputs, in)
}

// Seal ends the making of a task: nodes without hooks leave the walk, and those behind them follow what they followed.
func (t *Task) Seal() {
	var walked []*Node
	for _, n := range t.Nodes {
		n.follow()
		if n.walks() {
			walked = append(walked, n)
		}
	}
	t.Nodes = walked
}

// follow finds the marks that the node's watermark is made of. Tables that are not versioned have no part in it beside streams.
func (n *Node) follow() {
	if len(n.parents) == 0 {
		return // an input: AddInput has said what it follows
	}
	n.table = true
	for _, p := range n.parents {
		n.table = n.table && p.table
	}
	for _, p := range n.parents {
		switch {
		case p.table && !n.table:
		case p.walks():
			n.follows(&p.out, p)
		default:
			for i, m := range p.from {
				n.follows(m, p.up[i])
			}
		}
	}
}

// follows adds a mark once: a diamond leads to the same one by two ways.
func (n *Node) follows(m *Mark, up *Node) {
	if !slices.Contains(n.from, m) {
		n.from, n.up = append(n.from, m), append(n.up, up)
	}
}

// RestoreNodes gives nodes the watermarks of the last checkpoint. A node that is not there any more is nobody's.
func (t *Task) RestoreNodes(marks []NodeMark) {
	for _, m := range marks {
		for _, n := range t.Nodes {
			if n.Name == m.Name {
				n.Restore(m.W)
			}
		}
	}
}

// An Out is the sending end of a local exchange.
type Out interface {
	// Flush sends what was collected and how far event time is upstream.
	Flush()
	// Barrier flushes, and sends barrier n down every channel.
	Barrier(n uint64)
	// Pending is how many bytes wait unprocessed at the fullest receiver.
	Pending() int64
}

// ID is the task's name and partition.
func (t *Task) ID() string { return fmt.Sprintf("%s/%d", t.Name, t.Partition) }

// Err is why the task stopped; nil while it runs. A task that has stopped does nothing any more.
func (t *Task) Err() error { return t.err }

// Now is the wall clock in milliseconds as of the latest call of Clock.
func (t *Task) Now() int64 { return t.now }

// ClockDue is when Clock next has something to do.
func (t *Task) ClockDue() int64 { return t.clockDue }

// Start runs the operators' start hooks. State must have been restored.
func (t *Task) Start(now int64) error {
	t.now = now
	return t.guard(func() {
		for _, n := range t.Nodes {
			if n.Hooks.Start == nil {
				continue
			}
			if err := n.Hooks.Start(); err != nil {
				panic(Failure{fmt.Errorf("node %s of task %s: start: %w", n.Name, t.ID(), err)})
			}
		}
		t.walk()
	})
}

// Stop runs the operators' stop hooks, all of them, and returns the first error.
func (t *Task) Stop() error {
	var first error
	for _, n := range t.Nodes {
		if n.Hooks.Stop == nil {
			continue
		}
		if err := n.Hooks.Stop(); err != nil && first == nil {
			first = fmt.Errorf("node %s of task %s: stop: %w", n.Name, t.ID(), err)
		}
	}
	return first
}

// Step processes up to budget records and returns how many it did. 0 means that there is nothing to do until something is pushed
// or a barrier passes.
func (t *Task) Step(budget int) (done int, err error) {
	err = t.guard(func() {
		for done < budget && t.full == 0 && !t.retry.waits(t.now) {
			in, until := t.pick()
			if in == nil {
				break
			}
			n := in.Run(until, budget-done)
			if n == 0 {
				break
			}
			t.retry = retry{}
			done += n
		}
		t.settle()
	})
	if err == nil && t.retry.waits(t.now) {
		err = t.guard(t.settle) // which an outage cut off
	}
	return done, err
}

// pick finds the input whose head is the earliest, and until when it is. A task with several inputs waits for an empty one while
// that is known to have more, so that replays give the same joins as live runs.
func (t *Task) pick() (first Input, until int64) {
	if len(t.Inputs) == 1 {
		return t.Inputs[0], MaxTime
	}
	until = MaxTime
	earliest := int64(MaxTime)
	for _, in := range t.Inputs {
		head, ok := in.Head()
		switch {
		case !ok && in.State().waited():
			return nil, 0
		case !ok:
		case first == nil:
			first, earliest = in, head
		case head < earliest:
			first, earliest, until = in, head, min(until, earliest)
		default:
			until = min(until, head)
		}
	}
	return first, until
}

// WaitsFor names the input that Step waits for although others have records; "" when it waits for none.
func (t *Task) WaitsFor() string {
	if len(t.Inputs) == 1 {
		return ""
	}
	waiting, ready := "", false
	for _, in := range t.Inputs {
		if _, ok := in.Head(); ok {
			ready = true
		} else if in.State().waited() {
			waiting = in.State().Name
		}
	}
	if !ready {
		return ""
	}
	return waiting
}

// Do runs f between two records: what a call outside of the task has brought back.
func (t *Task) Do(f func()) error { return t.guard(f) }

// Full says that an operator has no room for another record: inputs stop before the next one until it says otherwise.
func (t *Task) Full(n int) { t.full += n }

// Busy says that an operator waits for something outside of the task: the task has not ended before it is there.
func (t *Task) Busy(n int) { t.busy += n }

// IsFull reports whether an operator has no room.
func (t *Task) IsFull() bool { return t.full > 0 }

// Settle brings watermarks and exchanges up to date after changes that came without records: an input became idle, or ended.
func (t *Task) Settle() error { return t.guard(t.settle) }

func (t *Task) settle() {
	for _, in := range t.Inputs {
		if s := in.State(); s.Finished && !s.Ended && !s.blocked {
			if _, more := in.Head(); !more {
				s.Ended = true
			}
		}
	}
	t.walk()
	for _, o := range t.Outs {
		o.Flush()
	}
}

// Watermark is the combined watermark of the inputs, and which of them holds it back.
func (t *Task) Watermark() (w int64, heldBy string) {
	var marks []*Mark
	lowest := int64(MaxTime)
	for _, in := range t.Inputs {
		s := in.State()
		if s.Table {
			continue
		}
		marks = append(marks, &s.Mark)
		if !s.Idle && !s.Ended && s.W <= lowest {
			lowest, heldBy = s.W, s.Name
		}
	}
	if len(marks) == 0 {
		return MinTime, ""
	}
	return Combine(marks), heldBy
}

// Ended reports whether every input has ended and everything was processed.
func (t *Task) Ended() bool {
	if t.busy > 0 {
		return false
	}
	for _, in := range t.Inputs {
		s := in.State()
		if s.Table && !s.Ended && s.AtEnd {
			continue
		}
		if !s.Ended || s.Queued > 0 {
			return false
		}
	}
	return true
}

// Clock tells the time and runs what is due by it.
func (t *Task) Clock(now int64) error {
	if now > t.now {
		t.now = now
	}
	moved := false
	next := t.retry.due(now)
	for _, in := range t.Inputs {
		changed, again := in.State().quiet(now)
		moved = moved || changed
		next = min(next, again)
	}
	if now < t.clockDue && !moved {
		t.clockDue = min(t.clockDue, next)
		return nil
	}
	return t.guard(func() {
		t.clockDue = next
		for _, n := range t.Nodes {
			if n.clockNext <= now && n.Hooks.Clock != nil {
				n.clockNext = MaxTime
				n.Hooks.Clock(now)
			}
			t.clockDue = min(t.clockDue, n.clockNext)
		}
		t.settle()
	})
}

// walk brings every node up to its input watermark, upstream first, and finds when the next one is due.
func (t *Task) walk() {
	t.Context.began = noRecord
	t.walking = true
	w := int64(MinTime)
	for _, n := range t.Nodes {
		n.step()
		w = max(w, n.in)
	}
	t.walking = false
	t.due = MaxTime
	for _, n := range t.Nodes {
		// What is due already and was not run waits for a node upstream of it, which is due itself, or holds back until a checkpoint.
		if d := n.dueAt(); d > w {
			t.due = min(t.due, d)
		}
	}
}

// guard runs f and turns a panic into the task's error.
func (t *Task) guard(f func()) (err error) {
	if t.err != nil {
		return t.err
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case Retry:
			t.again(p.Err)
		case Failure:
			t.err, err = p.Err, p.Err
		default:
			err = t.panicked(p, debug.Stack())
			if r := (Retry{}); errors.As(err, &r) {
				t.again(r.Err)
				err = nil
				return
			}
			t.err = err
		}
	}()
	f()
	return nil
}

// panicked is the error for a panic that no node took: a defect of the engine, or of a hook of user code.
func (t *Task) panicked(p any, stack []byte) error {
	if t.Explain != nil {
		return t.Explain(p, stack)
	}
	node := "?"
	if t.Context.Fault != nil {
		node = t.Context.Fault.Name
	}
	o := t.Context.Origin
	return fmt.Errorf("node %s of task %s: panic at %s/%d@%d: %v\n%s", node, t.ID(), o.Topic, o.Partition, o.Offset, p, stack)
}
