package crashtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/serde"
)

// The fates that each step of an app meets in turn.
var stepFates = map[string]faults.Fate{
	"killed before": {Kill: true}, "killed behind": {KillDone: true}, "answer lost": {Lose: true}, "lost": {Drop: true}, "late": {After: 5},
	"twice": {Again: 3}, "refused": {Refuse: errors.New("refused by the test")}, "expired": {Pass: 2 * time.Minute},
}

// stepsOf are the requests and the writes to the disk of an undisturbed run.
func stepsOf(t *testing.T, s scenario) (kinds []faults.Kind) {
	t.Helper()
	if err := run(s, 0, faults.JudgeFunc(func(r faults.Request) (f faults.Fate) { kinds = append(kinds, r.Kind); return f })); err != nil {
		t.Fatal(err)
	}
	return kinds
}

// TestEveryStepOfACheckpoint has each request and each write to the disk, of a run of several checkpoints, meet each fate: before the flush and
// behind it, with the commit's answer lost, between the commit and the database. A process that is killed is killed again soon after, while it
// recovers. Every sum comes out once and in order, and no transaction is left open.
func TestEveryStepOfACheckpoint(t *testing.T) {
	s := counting()
	s.chunk = keys - 2 // a checkpoint leaves rows as they were
	s.input = (&world{}).usual()[:4*s.chunk]
	want := map[string]int64{}
	for _, g := range s.input {
		want[string(g.rec.Key)]++
	}
	s.check = func(out oracle.Records, _ *world) error { return oracle.Counts(out, want, serde.Int64.Decode) }
	kinds := stepsOf(t, s)
	with := func(j faults.JudgeFunc) (recoveries int, err error) {
		w, err := newWorld(s, 0, j)
		if err != nil {
			return 0, err
		}
		err = w.run()
		return len(w.why), err
	}
	for _, kind := range []faults.Kind{faults.Produce, faults.TxnOffsets, faults.EndTxn, faults.Write} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("there is no %s among the steps", kind)
		}
	}
	runs := 0
	for name, fate := range stepFates {
		for i := range kinds {
			again := []int{0}
			if fate.Kill || fate.KillDone {
				again = []int{0, 1, 2, 4, 7, 11}
			}
			for _, next := range again {
				at := -1
				recoveries, err := with(func(faults.Request) (f faults.Fate) {
					switch at++; {
					case at == i:
						f = fate
					case next > 0 && at == i+next:
						f.Kill = true
					}
					return f
				})
				if err == nil && fate.Refuse != nil && kinds[i] == faults.Write && recoveries == 0 {
					err = errors.New("it was not noticed")
				}
				if runs++; err != nil {
					t.Errorf("step %d (%s) %s, and %d steps later once more: %v", i, kinds[i], name, next, err)
				}
			}
		}
	}
	t.Logf("%d steps, %d runs", len(kinds), runs)
}
