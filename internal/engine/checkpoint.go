package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
)

// A checkpoint is one consistent cut, from its barrier to its commit.
type checkpoint struct {
	n     uint64
	wait  map[*runner]bool // tasks that have not passed the barrier
	parts []*prepared
	err   error
	begun time.Time
}

// A prepared is a task's part of a checkpoint.
type prepared struct {
	r       *runner
	cut     *task.Cut
	handles []connector.Handle // one per sink of the task
	last    bool               // nothing was processed behind it: the task is given up
}

// begin sends the barrier of a new checkpoint to every task. There is one checkpoint at a time: n+1 begins when n is committed.
func (s *session) begin() {
	s.n++
	s.early = false
	cp := &checkpoint{n: s.n, wait: map[*runner]bool{}, begun: time.Now()}
	s.cuts = [2]time.Time{cp.begun, s.cuts[0]}
	s.inflight = cp
	for _, r := range s.runners {
		cp.wait[r] = true
	}
	for _, r := range s.runners {
		r.send(message{kind: aBarrier, n: cp.n, last: r.leaving.Load() || cp.n == s.final})
	}
	if len(s.runners) == 0 {
		s.commit(cp)
	}
}

// outlived reports whether a transaction of the session may have been open for as long as it may be: the cluster has ended it then, which looks as if
// another process had taken the id. The records of a checkpoint begin at the barrier before its own.
func (s *session) outlived(now time.Time) bool {
	since := s.cuts[0]
	if s.inflight != nil {
		since = s.cuts[1]
	}
	return now.Sub(since) >= s.config.TransactionTimeout
}

// overdue is the error of a checkpoint whose barrier some task has not passed for too long: it names them.
func (cp *checkpoint) overdue(after time.Duration) error {
	if len(cp.wait) == 0 || time.Since(cp.begun) < after {
		return nil
	}
	var names []string
	for r := range cp.wait {
		names = append(names, r.name)
	}
	slices.Sort(names)
	return &errRecover{fmt.Errorf("checkpoint %d: task %s has not passed its barrier for %v (MaxTaskPause): a user function or a sink holds it up",
		cp.n, strings.Join(names, ", "), after)}
}

// take adds a task's part and reports whether it was the last.
func (cp *checkpoint) take(p *prepared) bool {
	delete(cp.wait, p.r)
	cp.parts = append(cp.parts, p)
	return len(cp.wait) == 0
}

// commit makes the checkpoint a fact while processing goes on above it.
func (s *session) commit(cp *checkpoint) {
	do := func() {
		cp.err = s.commits.commit(s.ctx, cp)
		s.post(event{committed: cp})
	}
	if !s.threaded {
		do()
		return
	}
	s.wg.Go(do)
}

// applied tells the tasks that the checkpoint is committed and in the database.
func (s *session) applied(cp *checkpoint) error {
	s.inflight = nil
	s.checkpointTook(time.Since(cp.begun))
	s.mu.Lock()
	s.mu.committed = cp.n
	s.mu.Unlock()
	s.app.waits(nil)
	for _, p := range cp.parts {
		s.moved = s.moved || p.r.moved(p.cut.Positions)
		p.r.send(message{kind: anApply, n: cp.n})
	}
	if cp.n == s.final {
		return nil
	}
	if s.draining.on {
		s.draining.note(s.runners)
	}
	return s.giveUp(cp)
}

// A commitLog makes checkpoints atomic facts. There are two: the database of this process, and a cluster's transactions.
type commitLog interface {
	// recover reads what the last commit says of these tasks, and brings their stores there.
	recover(ctx context.Context, refs []taskRef) (*saved, error)
	// equip gives a task that is being made its appenders.
	equip(r *runner, next uint64) error
	// write is called in the task's goroutine when it has passed a barrier: what else of the cut goes into the log.
	write(r *runner, cut *task.Cut, handles []connector.Handle) error
	// commit makes the checkpoint durable, visible and applied, or returns why not. What it returns ends the session.
	commit(ctx context.Context, cp *checkpoint) error
	// full reports whether tasks should stop taking input until what they wrote has left.
	full() bool
	// guarantee is what is promised, for Status.
	guarantee() string
	// interval is the time between two checkpoints, given the configured one.
	interval(d time.Duration) time.Duration
	// close ends the log. clean: nothing was written behind the last commit.
	close(clean bool) error
}

// saved is what the last commit says.
type saved struct {
	n     uint64
	tasks map[string]*taskRecord
}
