package stream

import (
	"context"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

// Process runs user code with state per key, timers and several outputs. When it declares state or timers and the key was
// changed before, the stream is repartitioned first. Behind it the key counts as changed; see ProcessValues.
//
// setup declares what the code needs and returns the function for records. It is called once, at once, to learn the
// declarations, and again by every task, which so gets variables of its own; it must declare the same each time and do nothing else
// (OnStart is for opening things).
func (s *Stream[K, V]) Process[K2, V2 any](setup func(p *Processor[K, K2, V2]) func(r Record[K, V]) error, opts ...Option) *Stream[K2, V2] {
	return &Stream[K2, V2]{b: s.b, node: notBuilt(s.b, "Stream.Process", s.node)}
}

// ProcessValues is Process whose outputs all have the key of the record or timer that made them: Emit's key must be that key.
// Nothing is repartitioned after it.
func (s *Stream[K, V]) ProcessValues[V2 any](setup func(p *Processor[K, K, V2]) func(r Record[K, V]) error, opts ...Option) *Stream[K, V2] {
	return &Stream[K, V2]{b: s.b, node: notBuilt(s.b, "Stream.ProcessValues", s.node)}
}

// A Processor is what a Process may use. Emit, Forward, Now, Watermark and Context are for the functions that setup makes, and so is
// what the other methods return: in the task's goroutine, meaning the key being processed. The other methods are for setup.
type Processor[K, K2, V2 any] struct{}

// Emit sends a record on, with the time and headers of the record at hand, or a timer's time.
func (p *Processor[K, K2, V2]) Emit(k K2, v V2) {}

// Forward sends a whole record on. Its time must not be before the watermark.
func (p *Processor[K, K2, V2]) Forward(r Record[K2, V2]) {}

// Now is the wall clock, virtual in tests. It differs when a record is replayed.
func (p *Processor[K, K2, V2]) Now() time.Time { return time.Time{} }

// Watermark is this operator's input watermark: nothing earlier is on time any more.
func (p *Processor[K, K2, V2]) Watermark() time.Time { return time.Time{} }

// Context ends when the task does. Use AsyncMapValues for calls that wait: here they stop the task.
func (p *Processor[K, K2, V2]) Context() context.Context { return context.Background() }

// Value declares one value per key.
func (p *Processor[K, K2, V2]) Value[T any](name string, s serde.Serde[T], opts ...StateOption) state.Value[T] {
	return nil
}

// List declares a list per key.
func (p *Processor[K, K2, V2]) List[T any](name string, s serde.Serde[T], opts ...StateOption) state.List[T] {
	return nil
}

// Map declares a map per key.
func (p *Processor[K, K2, V2]) Map[F, T any](name string, f serde.Serde[F], s serde.Serde[T], opts ...StateOption) state.Map[F, T] {
	return nil
}

// Store declares the use of a store, which other processors of the same sub-topology may share.
func (p *Processor[K, K2, V2]) Store[SK, SV any](s *Store[SK, SV]) state.KeyValue[SK, SV] { return nil }

// Table declares the reading of a co-partitioned table, as it is when it is read.
func (p *Processor[K, K2, V2]) Table[TK, TV any](t *Table[TK, TV]) state.Reader[TK, TV] { return nil }

// Output declares a further output.
func (p *Processor[K, K2, V2]) Output[OK, OV any](o *Output[OK, OV]) *Outlet[OK, OV] { return nil }

// EventTimer declares timers that fire when the watermark reaches them. fire runs with the state of the key that set the timer,
// between records; it takes effect once, whatever crashes.
func (p *Processor[K, K2, V2]) EventTimer(name string, fire func(k K, at time.Time) error) *Timer {
	return nil
}

// ClockTimer is EventTimer by the wall clock.
func (p *Processor[K, K2, V2]) ClockTimer(name string, fire func(k K, at time.Time) error) *Timer {
	return nil
}

// Every calls tick per task, at multiples of d of the wall clock; no key is at hand. A tick missed is skipped.
func (p *Processor[K, K2, V2]) Every(d time.Duration, tick func(now time.Time) error) {}

// OnStart runs in the task's goroutine before its first record.
func (p *Processor[K, K2, V2]) OnStart(f func(ctx context.Context) error) {}

// OnStop runs in the task's goroutine after its last record.
func (p *Processor[K, K2, V2]) OnStop(f func() error) {}

// A Timer fires per key.
type Timer struct{}

// Set replaces every pending time of the key by at. A time that has passed fires after the record at hand.
func (t *Timer) Set(at time.Time) {}

// Add adds a pending time; the same time is pending once.
func (t *Timer) Add(at time.Time) {}

// Clear drops the pending times of the key.
func (t *Timer) Clear() {}

// An Output names a further output of a Process and carries its types. One processor writes it.
type Output[K, V any] struct{ name string }

// NewOutput makes one.
func NewOutput[K, V any](name string) *Output[K, V] { return &Output[K, V]{name} }

// Output is the stream of a further output of the Process that made s.
func (s *Stream[K, V]) Output[OK, OV any](o *Output[OK, OV]) *Stream[OK, OV] {
	return &Stream[OK, OV]{b: s.b, node: notBuilt(s.b, "Stream.Output", s.node)}
}

// An Outlet is an Output in use.
type Outlet[K, V any] struct{}

// Emit is described at Processor.
func (o *Outlet[K, V]) Emit(k K, v V) {}

// Forward is described at Processor.
func (o *Outlet[K, V]) Forward(r Record[K, V]) {}

// A Store describes a key-value store for processors and queries.
type Store[K, V any] struct{ name string }

// NewStore describes one. The name is final: changelog and files carry it.
func NewStore[K, V any](name string, k serde.Serde[K], v serde.Serde[V], opts ...StateOption) *Store[K, V] {
	return &Store[K, V]{name}
}
