package task

import (
	"context"

	"github.com/weirstream/weir/connector"
)

// An Input is one of a task's queues of batches. The typed loop behind it lives in package stream.
type Input interface {
	// State is the bookkeeping that the task reads and writes.
	State() *InputState
	// Push takes a batch that was read, or sent by another task.
	Push(b Batch)
	// Head is the event time of the next record, or false when there is none that may be taken now.
	Head() (time int64, ok bool)
	// Run processes records in order while their time is at most until, at most budget of them, and returns how many.
	Run(until int64, budget int) int
	// Position is where to read on after what was processed. "" before the first record, and for local exchanges.
	Position() connector.Position
	// Restart is called before the first batch with where the last checkpoint was.
	Restart(at connector.Position)
	// Aligned reports whether barrier n has arrived on every channel of the input. Inputs from outside have no channels: always.
	Aligned(n uint64) bool
	// Pass forgets barrier n: channels that waited behind it are read again.
	Pass(n uint64)
}

// A Gathering input hears from several upstream tasks how far each is. That is part of a checkpoint: an upstream task that has nothing
// new to say does not repeat itself for a reader that has forgotten.
type Gathering interface {
	// Marks are those of the upstream tasks, in their order. The slice is the caller's.
	Marks() []Mark
	// RestoreMarks is called before the first batch with what a checkpoint has, of as many upstream tasks as there were.
	RestoreMarks(marks []Mark)
}

// A Batch is what is pushed into an Input: its typed form is known to the Input it is meant for.
type Batch interface {
	Len() int
	Bytes() int
}

// A Reader reads one partition for an Input. One goroutine uses it, not the task's.
type Reader interface {
	// Next is connector.Reader's.
	Next(ctx context.Context) (Batch, error)
	Close() error
}

// InputState is what the task and the engine know about an input.
type InputState struct {
	Mark
	Name     string
	Table    bool  // a table that is not versioned: it does not hold the watermark back
	Local    bool  // a local exchange
	Disorder int64 // how far behind the latest record of its partition a record may be and be on time, in ms

	IdleAfter     int64 // how long the input must have been at its end to be idle, in ms
	ClockWhenIdle bool  // the watermark follows the wall clock while idle
	endSince      int64 // when the end was reached, by the wall clock; 0 while it is not

	Unheard   bool  // nothing was heard yet of a partition of which there will be news: a join waits for that
	More      bool  // the source is known to have more than what was pushed: a join waits for it
	AtEnd     bool  // nothing more exists
	Finished  bool  // bounded, and read whole; it ends when what was pushed is processed
	Lag       int64 // records known to be behind what was pushed
	Queued    int64 // bytes pushed and not yet processed
	Processed int64 // records
	blocked   bool  // a barrier was begun and is not aligned yet
}

// Restore takes the watermark of the last checkpoint as a floor: it never sinks.
func (s *InputState) Restore(m Mark) {
	s.W, s.High = max(s.W, m.W), max(s.High, m.High)
}

// Promise takes somebody's word, a test's, that nothing earlier than w comes any more.
func (s *InputState) Promise(w int64) {
	s.W, s.High = max(s.W, w), max(s.High, w)
}

// waited reports whether an empty input is known to have more that may be taken, or may have it, so that a join waits for it.
func (s *InputState) waited() bool { return (s.More || s.Unheard) && !s.Finished && !s.blocked }

// Blocked reports whether the input may not be read because a barrier is being aligned.
func (s *InputState) Blocked() bool { return s.blocked }

// Observe notes the event time of a record that is about to be processed, and does what is due by it first.
func (t *Task) Observe(s *InputState, time int64) {
	if time <= s.High {
		return
	}
	s.High = time
	w := time - s.Disorder
	if w > time { // underflow near the beginning of time
		w = MinTime
	}
	if w > s.W {
		s.W = w
		if w >= t.due {
			t.walk()
		}
	}
}

// Advance is called by an input whose mark has moved between two records: what is due by it comes before the next one.
func (t *Task) Advance() {
	if t.due != MaxTime {
		t.walk()
	}
}

// took notes that a batch has come: an input that was idle is active before its first record is processed.
func (s *InputState) Took(bytes int) {
	s.Queued += int64(bytes)
	s.Idle = false
	s.endSince = 0
}

// quiet judges an input that was read to its end: idle after IdleAfter. It returns when to look again.
func (s *InputState) quiet(now int64) (changed bool, again int64) {
	if s.Ended || !s.AtEnd || s.Queued > 0 {
		s.endSince = 0
		return false, MaxTime
	}
	if s.endSince == 0 {
		s.endSince = now
	}
	due := s.endSince + s.IdleAfter
	if now < due {
		return false, due
	}
	changed = !s.Idle
	s.Idle = true
	if s.ClockWhenIdle && now > s.High {
		s.High = now
		changed = true
	}
	if s.ClockWhenIdle {
		return changed, now + clockStep
	}
	return changed, MaxTime
}

// clockStep is how often the watermark of an idle input follows the wall clock, in ms.
const clockStep = 100
