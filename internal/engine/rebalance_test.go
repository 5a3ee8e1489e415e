package engine

import (
	"context"
	"testing"
)

// A recoverer notes what it is asked to restore.
type recoverer struct {
	commitLog
	asked [][]taskRef
}

func (l *recoverer) recover(_ context.Context, refs []taskRef) (*saved, error) {
	l.asked = append(l.asked, refs)
	return &saved{}, nil
}

// restoringSession is a session that has begun to restore tasks 0 and 1.
func restoringSession(t *testing.T) (s *session, log *recoverer, tasks []taskRef) {
	sub := &Sub{Name: "counts"}
	tasks = []taskRef{{sub: sub, partition: 0}, {sub: sub, partition: 1}}
	log = &recoverer{}
	s = &session{ctx: t.Context(), commits: log, making: map[string]*restoring{}, tasks: map[*Sub][]*runner{sub: make([]*runner, 2)}, events: newQueue[event]()}
	if err := s.restore(tasks); err != nil {
		t.Fatal(err)
	}
	return s, log, tasks
}

// A task that was taken away and given back while it was restored goes by what was committed when it came back: another process had it between.
func TestRestoreFromBeforeATaskWasAwayIsNotTaken(t *testing.T) {
	s, log, tasks := restoringSession(t)
	before := s.making[tasks[0].name()]
	delete(s.making, tasks[0].name()) // as revoke does
	delete(s.making, tasks[1].name())
	if err := s.restore(tasks[:1]); err != nil {
		t.Fatal(err)
	}
	again := s.making[tasks[0].name()]
	if err := s.take(&restored{of: before, refs: tasks, saved: &saved{}}); err != nil {
		t.Fatal(err)
	}
	if s.tasks[tasks[0].sub][0] != nil || s.making[tasks[0].name()] != again {
		t.Error("the first restore was taken, and the second is under way")
	}
	if len(log.asked) != 2 {
		t.Errorf("restored %d times, want 2", len(log.asked))
	}
}

// Tasks that are restored with one that is taken away are restored again, and the others run on.
func TestRestoreGoesOnWithoutTheTaskThatWasTakenAway(t *testing.T) {
	s, log, tasks := restoringSession(t)
	of := s.making[tasks[0].name()]
	of.revoked = true // as revoke does
	of.cancel()
	delete(s.making, tasks[0].name())
	if err := s.take(&restored{of: of, refs: tasks, err: context.Canceled}); err != nil {
		t.Fatal(err)
	}
	if len(log.asked) != 2 || len(log.asked[1]) != 1 || log.asked[1][0].name() != tasks[1].name() {
		t.Errorf("restored %v, want the one that is left to be restored again", log.asked)
	}
	if s.making[tasks[1].name()] == nil || s.making[tasks[1].name()] == of {
		t.Error("its restore is not noted")
	}
}
