package stream

import (
	"errors"
	"fmt"

	"github.com/weirstream/weir/connector"
)

// An Error is a rejected record or a failed node.
type Error struct {
	Node, Task string
	Origin     connector.Origin // where the record was read; the zero Origin when it was not read from a source
	Stack      []byte           // of a panic
	Err        error
}

// Error says node, task, topic, partition, offset and cause.
func (e *Error) Error() string {
	where := ""
	if e.Origin.Topic != "" {
		where = fmt.Sprintf(", record %s/%d@%d", e.Origin.Topic, e.Origin.Partition, e.Origin.Offset)
	}
	if e.Stack != nil {
		return fmt.Sprintf("node %s, task %s%s: %v\n%s", e.Node, e.Task, where, e.Err, e.Stack)
	}
	return fmt.Sprintf("node %s, task %s%s: %v", e.Node, e.Task, where, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Reject gives up on the record at hand from inside any user function that has no error result. It does not return;
// it panics with a value that only the engine recovers.
func Reject(err error) { panic(rejected{err}) }

type rejected struct{ err error }

// Error makes the panic readable where someone calls a user function outside of weir.
func (r rejected) Error() string { return fmt.Sprintf("stream.Reject: %v", r.err) }

// Transient marks an error of infrastructure (a service that is down, a 503): the task waits and tries again, and no
// record is rejected for it. Transient(nil) is nil.
func Transient(err error) error {
	if err == nil {
		return nil
	}
	return &transient{err}
}

type transient struct{ err error }

func (t *transient) Error() string { return t.err.Error() }
func (t *transient) Unwrap() error { return t.err }

// isTransient reports whether an error is of infrastructure.
func isTransient(err error) bool {
	var t *transient
	return errors.As(err, &t)
}

// Errors of Run, for errors.Is.
var (
	ErrStopTimeout  = errors.New("stream: stop timed out")
	ErrFenced       = errors.New("stream: another instance took over")
	ErrStateDir     = errors.New("stream: state directory is not usable")
	ErrTopic        = errors.New("stream: a topic is missing or has the wrong settings")
	ErrCoPartition  = errors.New("stream: inputs are not co-partitioned")
	ErrPositionLost = errors.New("stream: a position was deleted by retention")
	ErrTopology     = errors.New("stream: the topology does not match its state")
	ErrFormat       = errors.New("stream: state is stored in another format")
)

// ErrFuture is the data error of a record whose time is further ahead of the clock than MaxFuture.
var ErrFuture = errors.New("stream: event time is too far ahead")

// ErrNotBuilt is the Build error of an operator that this version does not have yet.
var ErrNotBuilt = errors.New("stream: not built yet")
