// Package task is one task's state machine: records, barriers, watermarks and timers in, effects out. It starts no goroutine,
// reads no clock and does no I/O, so that whatever can happen to a task can be replayed in a unit test.
//
// Nothing here knows a key or a value: the typed bodies (input loops, operators, the ends of exchanges) live in package stream
// and are reached by one interface call per batch, barrier or watermark, never per record.
//
// A Task belongs to the goroutine that runs it. Nothing in this package is safe for concurrent use.
package task

import (
	"github.com/weirstream/weir/connector"
)

// A Context travels beside key and value through the chain of one task. Operators that change a field put it back before they return.
type Context struct {
	Time    int64 // event time in milliseconds
	Headers connector.Headers
	Origin  connector.Origin
	NoKey   bool

	Fault *Node // whose user function ran last: the one at fault when it panics
	Raw   Raw   // the bytes of the record at hand, for a dead letter; nil when it never had any

	Effects int64 // how often a sink, an exchange or a store was, or was about to be, written to
	began   int64 // Effects when the record at hand began; noRecord when there is none
}

// noRecord is no count of effects.
const noRecord = -1

// Begin says that a record comes from an input.
func (c *Context) Begin() { c.began = c.Effects }

// Clean reports whether a record of an input is at hand that has had no effect yet: it may go back to where it came from.
func (c *Context) Clean() bool { return c.began == c.Effects }

// Raw gives the bytes of the record being processed. They are valid during the call that processes it.
type Raw interface {
	Raw() (key, value []byte)
}

// A Failure is what a task panics with to unwind to its input when a record stops the task.
type Failure struct{ Err error }

// Error is the cause's.
func (f Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f Failure) Unwrap() error { return f.Err }

// A Retry is what a task panics with when the record at hand, which must be Clean, has to wait for something outside: it stays at the
// head of its input, barriers pass, and it is tried again after a while.
type Retry struct{ Err error }

// Error is the cause's.
func (r Retry) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r Retry) Unwrap() error { return r.Err }
