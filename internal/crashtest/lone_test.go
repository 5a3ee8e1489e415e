package crashtest

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// A lone app has no cluster: its commit log is its database. What it reads, its disk and the sinks outside of it outlive its processes. Every
// call to its disk and its sinks that changes something is a step, and may have a fate.
type lone struct {
	disk   *disk
	in     *lines
	counts *memory.Collector[string, int64]
	panes  *memory.Collector[string, int64]
	d      *engine.Driver // nil while it is down

	steps int
	fates map[int]fate
	dead  bool   // killed, and everything it still calls fails
	met   string // what the fate of the present call was, with the call

	begun    map[string]uint64 // checkpoints by the handles that were prepared in them
	open     map[string]string // handles that are prepared and not committed, by sink and task
	highest  uint64            // of the checkpoints whose handles are committed
	marks    map[string]int64  // watermarks of tasks
	problems []error
}

type fate int

const (
	killedBefore fate = 1 + iota // the process is killed, and the call has had no effect
	killedBehind
	fails      // the call has no effect
	answerLost // the call has had one
)

func (f fate) String() string {
	return [...]string{"", "killed before", "killed behind", "failed", "answer lost"}[f]
}

var errStep = errors.New("failed by the test")

const loneChunks = 6

// newLone makes an app that is down, with nothing to read.
func newLone(fates map[int]fate) *lone {
	return &lone{
		disk: &disk{rand: rand.New(rand.NewPCG(1, uint64(len(fates))))}, in: &lines{parts: make([][]given, 2)}, fates: fates,
		counts: memory.Collect[string, int64]("counts"), panes: memory.Collect[string, int64]("panes"),
		begun: map[string]uint64{}, open: map[string]string{}, marks: map[string]int64{},
	}
}

// step is one.
func (l *lone) step(what string, do func() error) error {
	if l.dead {
		return faults.ErrKilled
	}
	l.steps++
	f := l.fates[l.steps]
	if f != 0 {
		l.met = fmt.Sprint(what, " ", f)
	}
	l.dead = f == killedBefore || f == killedBehind
	var err error
	if f != killedBefore && f != fails {
		err = do()
	}
	switch {
	case l.dead:
		return faults.ErrKilled
	case f != 0:
		return errStep
	}
	return err
}

// build counts twice: every sum in the task that reads, and windows behind an exchange.
func (l *lone) build() *stream.Builder {
	b := stream.New("app")
	src := b.Source(l.in, stream.IdleAfter(24*time.Hour))
	src.GroupByKey().Count(stream.OnUpdate).ToStream().To(&outsider{l.counts, l})
	src.Map(func(k, v string) (string, string) { return k, v }).
		GroupByKey().Window(window.Tumbling(windowSize)).Count(stream.Named("windowed")).ToStream().
		Map(func(k window.Key[string], n int64) (string, int64) {
			return fmt.Sprintf("%s@%d", k.Key, k.Span.Start().UnixMilli()), n
		}).
		To(&outsider{l.panes, l})
	return b
}

// start is what a new process does.
func (l *lone) start() error {
	compiled, err := l.build().Compile(stream.Config{State: loneBackend{l}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	l.d, err = engine.NewDriver(compiled.Plan, compiled.Config)
	return err
}

// checked is a call of the app: one in which a step has failed must not succeed. A sink that fails is an outage, of which it recovers; behind a
// batch of which nobody knows whether it was written, only another process can.
func (l *lone) checked(call func() error) error {
	l.met = ""
	err := call()
	switch {
	case err == nil && l.met != "":
		l.problems = append(l.problems, fmt.Errorf("%s, and nobody noticed", l.met))
	case err != nil && l.met == "":
		l.problems = append(l.problems, fmt.Errorf("without a reason: %w", err))
	case err != nil && !l.dead && engine.Recoverable(err) == strings.HasPrefix(l.met, "batch "):
		l.problems = append(l.problems, fmt.Errorf("%s, recoverable %v: %w", l.met, engine.Recoverable(err), err))
	}
	return err
}

// round takes a checkpoint, and recovers from what fails until one succeeds.
func (l *lone) round() {
	for len(l.problems) == 0 {
		var err error
		if l.d == nil {
			err = l.checked(l.start)
		}
		if err == nil {
			l.sunk()
			if err = l.checked(l.d.Checkpoint); err == nil {
				l.note()
				return
			}
		}
		if engine.Recoverable(err) && !l.dead {
			err = l.checked(l.d.Crash)
		}
		if err != nil {
			l.end()
		}
	}
}

// note remembers how far event time is, as the checkpoint has it, and sunk compares that with where another session begins.
func (l *lone) note() {
	for _, st := range l.d.Status().Tasks {
		l.marks[st.Task] = st.Watermark
	}
}

func (l *lone) sunk() {
	for _, st := range l.d.Status().Tasks {
		if was, ok := l.marks[st.Task]; ok && st.Watermark < was {
			l.problems = append(l.problems, fmt.Errorf("task %s: the watermark %d was %d", st.Task, st.Watermark, was))
		}
	}
}

// end is that of a process, killed or not.
func (l *lone) end() {
	if l.d != nil {
		l.d.Close()
	}
	l.d = nil
	if l.dead {
		l.disk.killed()
	}
	l.dead = false
	clear(l.open) // the next one recovers before it prepares
}

// run is the whole input, a checkpoint for each chunk of it and one more.
func (l *lone) run() error {
	for c := range loneChunks {
		l.in.put(c)
		l.round()
	}
	l.round()
	return l.judged()
}

// judged checks that every sum has come once and in order, and every window that must have closed once.
func (l *lone) judged() error {
	if len(l.problems) > 0 {
		return errors.Join(l.problems...)
	}
	var errs []error
	want := map[string]int64{}
	for _, part := range l.in.parts {
		for _, g := range part {
			want[string(g.rec.Key)]++
		}
	}
	sums := oracle.Records{}
	for _, r := range l.counts.Records() {
		v, err := serde.Int64.Append(nil, r.Value)
		errs = append(errs, err)
		sums[0] = append(sums[0], wire.Record{Key: []byte(r.Key), Value: v})
	}
	errs = append(errs, oracle.Counts(sums, want, serde.Int64.Decode), l.closed())
	for name, n := range map[string]int{"counts": l.counts.Prepared(), "panes": l.panes.Prepared()} {
		if n > 0 {
			errs = append(errs, fmt.Errorf("%s: %d handles are neither committed nor dropped", name, n))
		}
	}
	return errors.Join(errs...)
}

// closed checks the windows. Whether the late records are late depends on what was read again together; that they open no window again does not.
func (l *lone) closed() error {
	var errs []error
	seen := map[string]bool{}
	for _, r := range l.panes.Records() {
		if seen[r.Key] {
			errs = append(errs, fmt.Errorf("window %s has closed again, with %d", r.Key, r.Value))
		}
		seen[r.Key] = true
	}
	for i := range loneChunk * (loneChunks - 1) {
		name := fmt.Sprintf("%s@%d", lineKey(i), lineTime(i).Truncate(windowSize).UnixMilli())
		if !seen[name] {
			errs = append(errs, fmt.Errorf("window %s is missing", name))
		}
	}
	return errors.Join(errs...)
}
