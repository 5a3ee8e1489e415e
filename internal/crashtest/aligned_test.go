package crashtest

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults"
)

// An alignment is a checkpoint over a local exchange whose tasks take their turns one by one.
type alignment struct {
	*world
	t                  *testing.T
	d                  *engine.Driver
	senders, receivers []string
}

func newAlignment(t *testing.T) *alignment {
	t.Helper()
	w, err := newWorld(scenario{name: "aligned", build: repartition, check: sums, disk: true}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &alignment{world: w, t: t}
	a.put()
	w.steps(t, 1)
	a.d = w.procs[0].d
	for _, name := range w.procs[0].running() {
		if strings.HasPrefix(name, "in/") {
			a.senders = append(a.senders, name)
		} else {
			a.receivers = append(a.receivers, name)
		}
	}
	if len(a.senders) != partitions || len(a.receivers) != partitions {
		t.Fatalf("%q send to %q", a.senders, a.receivers)
	}
	return a
}

func (a *alignment) put() {
	a.t.Helper()
	if err := a.send(); err != nil {
		a.t.Fatal(err)
	}
}

func (a *alignment) begin() {
	a.t.Helper()
	if err := a.d.Begin(); err != nil {
		a.t.Fatal(err)
	}
}

// turns gives tasks theirs, and returns how many records they processed.
func (a *alignment) turns(tasks ...string) int64 {
	a.t.Helper()
	before := a.processed(tasks)
	for _, name := range tasks {
		if err := a.d.Turn(name); err != nil {
			a.t.Fatal(err)
		}
	}
	return a.processed(tasks) - before
}

func (a *alignment) processed(tasks []string) (n int64) {
	for _, st := range a.d.Status().Tasks {
		for _, name := range tasks {
			if st.Task == name {
				n += st.Processed
			}
		}
	}
	return n
}

// crashes has the checkpoint committed, the process killed behind it, and the rest of the input processed.
func (a *alignment) crashes() {
	a.t.Helper()
	was := a.d.Status().Checkpoint
	if err := a.d.Poll(); err != nil {
		a.t.Fatal(err)
	}
	if n := a.d.Status().Checkpoint; n != was+1 {
		a.t.Fatalf("checkpoint %d is the last, %d was before", n, was)
	}
	p := a.procs[0]
	_ = p.conn.Close()
	p.recover(faults.ErrKilled)
	a.why = nil // the test killed it
	a.finish(a.t)
}

// TestBarriersAreAligned has tasks behind a local exchange hear of a barrier from one of the tasks before it. What that one sends behind the barrier
// is not processed until the others have passed it too: it would be part of a checkpoint that does not have it as read.
func TestBarriersAreAligned(t *testing.T) {
	a := newAlignment(t)
	a.begin()
	a.put()
	if a.turns(a.senders[0]) == 0 {
		t.Fatal("nothing was sent behind the barrier")
	}
	if n := a.turns(a.receivers...); n != 0 {
		t.Errorf("%d records were processed before all barriers had come", n)
	}
	if a.turns(a.senders[1:]...) == 0 || a.turns(a.receivers...) == 0 {
		t.Error("nothing goes on behind the barrier")
	}
	a.crashes()
}

// TestNoBarrierOvertakesRecords has tasks behind a local exchange told of a checkpoint while what was sent before its barrier lies before them. They
// pass it when they have processed that: the checkpoint has it as read.
func TestNoBarrierOvertakesRecords(t *testing.T) {
	a := newAlignment(t)
	a.put()
	if a.turns(a.senders...) == 0 {
		t.Fatal("nothing was sent")
	}
	a.begin()
	if a.turns(a.receivers...) == 0 {
		t.Error("what lay before the barrier was not processed")
	}
	a.crashes()
}
