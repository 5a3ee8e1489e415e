package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// A restoring is a restore of tasks that were assigned while others run. A task that was taken away and given back meanwhile is in two of them: the first
// has read what was committed before somebody else had it.
type restoring struct {
	cancel  context.CancelFunc
	revoked bool // one of its tasks was taken away, so it was cancelled
}

// A restored is its outcome.
type restored struct {
	of    *restoring
	refs  []taskRef
	saved *saved
	err   error
}

// rebalance follows a change of the group: what is kept runs on.
func (s *session) rebalance(e *wire.GroupEvent) error {
	switch {
	case e.Lost != nil:
		return &errRecover{fmt.Errorf("the seat in the group was lost: %w", e.Lost)}
	case e.Revoked != nil:
		s.revoke(e.Revoked)
		return nil
	}
	s.app.log.Info("a round of the group is over", "generation", e.Assigned.Generation, "partitions", len(e.Assigned.Partitions), "new", len(e.Assigned.Added))
	var added []taskRef
	owned := ownedBy(s.refs, e.Assigned)
	if err := s.pinned(owned); err != nil {
		return err
	}
	for _, t := range owned {
		if s.tasks[t.sub][t.partition] == nil && s.making[t.name()] == nil {
			added = append(added, t)
		}
	}
	if e.Assigned.Leader {
		s.fence(e.Assigned)
	}
	if err := s.restore(added); err != nil {
		return err
	}
	told := decodeMember(e.Assigned.UserData)
	s.base.warmth.run(owned, told)
	s.standbys.assign(told)
	return nil
}

// pinned is the error of a task without partitions that runs here and was given to another member, which happens when the seat was lost
// for a moment: nothing but the assignment says so.
func (s *session) pinned(owned []taskRef) error {
	for _, r := range s.runners {
		if len(r.ref.partitions) == 0 && !slices.ContainsFunc(owned, func(t taskRef) bool { return t.name() == r.name }) {
			return &errRecover{fmt.Errorf("task %s was given to another member", r.name)}
		}
	}
	return nil
}

// fence has the leader of a new generation end the transactions of instances that are not in it, so that readers do not wait for their
// timeout. It is not needed for what is right, so what goes wrong is only said.
func (s *session) fence(a *wire.Assigned) {
	l, ok := s.commits.(*kafkaLog)
	if !ok {
		return
	}
	do := func() {
		if err := l.fenceDead(s.ctx, a); err != nil && s.ctx.Err() == nil {
			s.app.log.Warn("a transaction of an instance that is gone may hold readers up until its timeout", "error", err)
		}
	}
	if !s.threaded {
		do()
		return
	}
	s.wg.Go(do)
}

// restore brings the state of added tasks up to date beside those that run; take then starts them.
func (s *session) restore(refs []taskRef) error {
	if len(refs) == 0 {
		return nil
	}
	s.standbys.claim(refs)
	ctx, cancel := context.WithCancel(s.ctx)
	of := &restoring{cancel: cancel}
	for _, t := range refs {
		s.making[t.name()] = of
	}
	do := func() {
		defer cancel()
		saved, err := s.commits.recover(ctx, refs)
		s.post(event{restored: &restored{of, refs, saved, err}})
	}
	if !s.threaded {
		do()
		return nil
	}
	s.wg.Go(do)
	return nil
}

// take starts restored tasks, unless they were revoked meanwhile.
func (s *session) take(r *restored) error {
	refs := slices.DeleteFunc(slices.Clone(r.refs), func(t taskRef) bool { return s.making[t.name()] != r.of })
	for _, t := range refs {
		delete(s.making, t.name())
	}
	defer s.standbys.reconcile()
	switch {
	case len(refs) == 0:
		return nil
	case r.err != nil && r.of.revoked:
		return s.restore(refs) // they were restored with one that was taken away
	case r.err != nil:
		return &errRecover{r.err}
	}
	return s.addTasks(refs, r.saved)
}

// revoke stops the intake of tasks that move. Their next checkpoint is their last; when it is committed and applied they are given up.
func (s *session) revoke(parts []wire.TopicPartition) {
	s.releasing = append(s.releasing, parts...)
	for _, t := range s.refs {
		if !intersects(t.partitions, parts) {
			continue
		}
		if of := s.making[t.name()]; of != nil {
			of.revoked = true
			of.cancel()
			delete(s.making, t.name())
		}
		if r := s.tasks[t.sub][t.partition]; r != nil {
			r.leaving.Store(true)
			r.stopFeeds()
			s.early = true
		}
	}
	s.release()
}

func intersects(a, b []wire.TopicPartition) bool {
	return slices.ContainsFunc(a, func(p wire.TopicPartition) bool { return slices.Contains(b, p) })
}

// giveUp closes the tasks whose last checkpoint this was, and releases what was revoked once nothing holds it.
func (s *session) giveUp(cp *checkpoint) error {
	var errs []error
	gone := false
	for _, p := range cp.parts {
		if !p.last {
			continue
		}
		gone = true
		s.workers.retire(p.r)
		p.r.closeAppenders()
		errs = append(errs, p.r.close())
		s.tasks[p.r.sub][p.r.ref.partition] = nil
		s.mu.Lock()
		s.runners = slices.DeleteFunc(slices.Clone(s.runners), func(r *runner) bool { return r == p.r })
		s.mu.Unlock()
		if p.r.ended.Load() {
			s.endedN--
		}
	}
	if gone {
		s.standbys.reconcile()
	}
	s.release()
	return errors.Join(errs...)
}

// release gives revoked partitions up once no task holds them.
func (s *session) release() {
	if len(s.releasing) == 0 {
		return
	}
	for _, r := range s.runners {
		if intersects(r.ref.partitions, s.releasing) {
			return
		}
	}
	s.base.seat.release(s.releasing)
	s.releasing = nil
}
