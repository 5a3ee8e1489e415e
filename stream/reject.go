package stream

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// A rejection carries out the error policy of one node in one task. Under Fail it does not return.
type rejection func(c *task.Context, err error, stack []byte)

// rejection makes the one of the node being made.
func (in *instance) rejection() rejection {
	policy := specOf(in.node).opts.policy
	if policy == nil {
		policy = in.config.OnError
	}
	r := &rejecter{in: in, node: in.node.Name, skipped: in.env.Count("weir_rejected_total", "node", in.node.Name)}
	r.open(policy)
	return func(c *task.Context, err error, stack []byte) {
		if f := (task.Failure{}); errors.As(err, &f) {
			panic(f)
		}
		e := &Error{Node: r.node, Task: in.task.ID(), Origin: c.Origin, Stack: stack, Err: err}
		r.apply(policy, c, e)
	}
}

// failing reports whether the node's policy is Fail: its user functions then run without a recover of their own.
func (in *instance) failing() bool { return in.failingAt(in.node) }

func (in *instance) failingAt(n *topology.Node) bool { return fails(n, in.config) }

// fails reports whether Fail is the policy of a node.
func fails(n *topology.Node, c *Config) bool {
	policy := specOf(n).opts.policy
	if policy == nil {
		policy = c.OnError
	}
	return policy == nil || policy == Fail
}

// A rejecter is the state of a rejection.
type rejecter struct {
	in      *instance
	node    string
	skipped func(int64)
	logged  time.Time
}

// open makes sure at start that a dead-letter sink can be written: finding out at the first bad record would be late.
func (r *rejecter) open(p Policy) {
	if d, ok := p.(*deadLetter); ok {
		_, err := r.in.letterBox(d)
		r.in.failed(err)
	}
}

// apply carries a policy out.
func (r *rejecter) apply(p Policy, c *task.Context, e *Error) {
	if isOutage(e.Err) {
		panic(waitFor(c, e))
	}
	switch p := p.(type) {
	case skipPolicy:
		r.skipped(1)
		r.log(e)
	case *deadLetter:
		box, err := r.in.letterBox(p)
		if err == nil {
			err = box.write(c, e)
		}
		if err != nil {
			panic(task.Failure{Err: fmt.Errorf("%w; and its dead letter was not written: %w", e, err)})
		}
		r.skipped(1)
	case decidePolicy:
		r.apply(p.f(e), c, e)
	default: // Fail, or nil from a Decide
		panic(task.Failure{Err: e})
	}
}

// logEvery bounds how often one node logs what it skips: a poisoned topic must not fill the disk.
const logEvery = time.Second

func (r *rejecter) log(e *Error) {
	if now := time.UnixMilli(r.in.task.Now()); now.Sub(r.logged) >= logEvery {
		r.logged = now
		r.in.env.Connector.Logger.Warn("record skipped", "node", e.Node, "task", e.Task,
			"topic", e.Origin.Topic, "partition", e.Origin.Partition, "offset", e.Origin.Offset, "error", e.Err)
	}
}

// A letterBox writes dead letters of one task to one sink.
type letterBox struct {
	w   connector.Writer[[]byte, []byte]
	rec Record[[]byte, []byte]
}

// letterBox opens the sink of a policy, once per task.
func (in *instance) letterBox(d *deadLetter) (*letterBox, error) {
	if box := in.letters[d]; box != nil {
		return box, nil
	}
	w, err := openSink(in, d.sink, d.env, false)
	if err != nil {
		return nil, err
	}
	box := &letterBox{w: w}
	in.letters[d] = box
	return box, nil
}

// The headers of a dead letter.
const (
	headerNode      = "weir.node"
	headerTask      = "weir.task"
	headerTopic     = "weir.topic"
	headerPartition = "weir.partition"
	headerOffset    = "weir.offset"
	headerError     = "weir.error"
)

// write sends a letter: the bytes as they were read, with where and why as headers behind those the record had.
func (b *letterBox) write(c *task.Context, e *Error) error {
	b.rec = Record[[]byte, []byte]{Time: time.UnixMilli(c.Time), Origin: c.Origin}
	if c.Raw != nil {
		b.rec.Key, b.rec.Value = c.Raw.Raw()
	}
	b.rec.NoKey, b.rec.Deleted = b.rec.Key == nil, b.rec.Value == nil
	add := func(key, value string) {
		b.rec.Headers = append(b.rec.Headers, connector.Header{Key: key, Value: []byte(value)})
	}
	b.rec.Headers = append(b.rec.Headers, c.Headers...)
	add(headerNode, e.Node)
	add(headerTask, e.Task)
	add(headerTopic, e.Origin.Topic)
	add(headerPartition, strconv.Itoa(int(e.Origin.Partition)))
	add(headerOffset, strconv.FormatInt(e.Origin.Offset, 10))
	add(headerError, e.Err.Error())
	c.Effects++
	return b.w.Write(&b.rec)
}

// isOutage reports whether an error is of infrastructure, and says nothing about the record.
func isOutage(err error) bool {
	return isTransient(err) || errors.Is(err, serde.ErrRegistryUnavailable)
}

// waitFor is what a task panics with in an outage. A record without effects stays where it is and is tried again; one that has had some
// is undone with everything since the last commit.
func waitFor(c *task.Context, e *Error) error {
	if c.Clean() {
		return task.Retry{Err: e}
	}
	return task.Failure{Err: engine.Recover(e)}
}

// explain makes an error of a panic that no node took: a Reject or a panic under Fail, or a defect.
func (in *instance) explain(p any, stack []byte) error {
	c := &in.task.Context
	e := &Error{Node: "?", Task: in.task.ID(), Origin: c.Origin}
	if c.Fault != nil {
		e.Node = c.Fault.Name
	}
	switch p := p.(type) {
	case rejected:
		e.Err = p.err
		if isOutage(p.err) {
			return waitFor(c, e)
		}
	case error:
		e.Err, e.Stack = fmt.Errorf("panic: %w", p), stack
	default:
		e.Err, e.Stack = fmt.Errorf("panic: %v", p), stack
	}
	return e
}

// try runs a user function for an operator whose policy is not Fail: a panic or Reject in it is this node's rejection, and what
// is behind it does not see the record. ok is false then. A panic of a node further down passes through.
func try(c *task.Context, n *task.Node, reject rejection, f func()) (ok bool) {
	c.Fault = n
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		switch p.(type) {
		case task.Failure, task.Retry, *overlay.Fault: // the task's end, never a record's fault
			panic(p)
		}
		if c.Fault != n {
			panic(p)
		}
		if r, given := p.(rejected); given {
			reject(c, r.err, nil)
			return
		}
		reject(c, fmt.Errorf("panic: %v", p), debug.Stack())
	}()
	f()
	return true
}

// attempt runs a user function that returns an error. guarded: with a recover of its own, as every policy but Fail needs. It is called
// by name, never through a variable: so f stays on the stack.
//
// In an outage the record goes back to the head of its input, if it has had no effect yet. If it has, but this call has not, the call is
// repeated in place for a while.
func attempt(c *task.Context, n *task.Node, reject rejection, guarded bool, f func() error) bool {
	for tries := 0; ; tries++ {
		before := c.Effects
		var err error
		if guarded {
			if !try(c, n, reject, func() { err = f() }) {
				return false
			}
		} else {
			c.Fault = n
			err = f()
		}
		if err == nil {
			return true
		}
		c.Fault = n
		if isOutage(err) && !c.Clean() && c.Effects == before && n.Task().Pause(tries) {
			continue
		}
		reject(c, err, nil)
		return false
	}
}
