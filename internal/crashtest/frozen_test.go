package crashtest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/stream"
)

// TestFrozenInTheMiddleOfACheckpoint suspends a process between the barrier and the commit, past its session timeout. Another one gets its tasks,
// counts the same records and commits them. Then the first goes on where it was: with the seat it had, or with a new one that it got as it woke.
// Its commit is refused: the group has given it up, and what it has prepared is of tasks that are not its any more.
func TestFrozenInTheMiddleOfACheckpoint(t *testing.T) {
	for _, phase := range []struct {
		name string
		at   faults.Kind
		nth  int
	}{
		{"nothing written", faults.AddPartitions, 1},
		{"partly written", faults.Produce, 2},
		{"positions on their way", faults.TxnOffsets, 1},
	} {
		for seat, awake := range map[string]bool{"old seat": false, "new seat": true} {
			for _, s := range []scenario{
				{name: "count", build: count, check: sums, config: overKafka, disk: true},
				{name: "nameless", build: count, check: sums, config: func(c *stream.Config) { overKafka(c); c.Instance = "" }},
				{name: "repartition", build: repartition, check: sums, config: overKafka, disk: true},
				{name: "standby", build: repartition, check: sums, config: standby, disk: true},
			} {
				t.Run(phase.name+"/"+seat+"/"+s.name, func(t *testing.T) { frozen(t, s, &moment{at: phase.at, nth: phase.nth}, awake) })
			}
		}
	}
}

// frozen has the first of two processes freeze at a moment of the third checkpoint with records; awake: it has joined anew when it goes on.
func frozen(t *testing.T, s scenario, m *moment, awake bool) {
	freezes := func(w *world) {
		first, other := w.procs[0], w.procs[1]
		all := len(first.running()) + len(other.running())
		suspended := first.conn.(interface {
			Freeze()
			Thaw()
		})
		suspended.Freeze()
		w.advance(session + time.Second)
		for range 4 {
			other.step()
			w.advance(2 * time.Second)
		}
		if n := len(other.running()); n != all {
			t.Errorf("the other one runs %d of %d tasks", n, all)
		}
		if awake {
			suspended.Thaw()
		}
	}
	w, err := during(s, regroup{before: 2, do: freezes, done: func(*moment) bool { return true }}, m)
	if err != nil {
		t.Fatal(err)
	}
	if !m.fired {
		t.Error("it did not come to that")
	}
	refused := func(err error) bool { // or a repartition topic was purged behind it before it came to that
		return strings.HasPrefix(err.Error(), "i0: ") && engine.Recoverable(err) &&
			(errors.Is(err, wire.ErrGeneration) || errors.Is(err, wire.ErrFenced) || errors.Is(err, engine.ErrPositionLost))
	}
	if !slices.ContainsFunc(w.why, refused) {
		t.Errorf("its commit was not refused: %v", errors.Join(w.why...))
	}
}
