package engine

import (
	"context"
	"errors"
	"time"
)

// run is the session's loop: it starts checkpoints, commits them, and stops.
func (s *session) run(ctx context.Context, drain <-chan struct{}) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	next := time.Now().Add(s.config.CheckpointInterval)
	for {
		select {
		case <-ctx.Done():
			return s.finish()
		case <-drain:
			s.drain()
		case <-s.events.news:
		case <-ticker.C:
			s.wakeDue()
		}
		if err := s.react(); err != nil {
			return err
		}
		if s.changed != nil {
			return s.leave(s.changed)
		}
		if s.inflight != nil {
			if err := s.inflight.overdue(s.config.MaxTaskPause); err != nil {
				return err
			}
		}
		if s.endedN > 0 && s.endedN == len(s.runners) && len(s.runners) == len(s.refs) {
			if !s.carries() {
				return s.finish()
			}
			if !s.draining.on {
				s.drain() // what is written must leave the outboxes, too
			}
		}
		if s.draining.done() {
			return s.finish()
		}
		s.publishGauges(time.Now())
		if now := time.Now(); s.inflight == nil && (s.early || !now.Before(next)) {
			s.begin()
			next = now.Add(s.draining.sooner(s.commits.interval(s.config.CheckpointInterval)))
		}
	}
}

// wakeDue wakes the tasks whose clock is due.
func (s *session) wakeDue() {
	now := s.now()
	for _, r := range s.runners {
		if r.clockDue.Load() <= now {
			s.wake(r)
		}
	}
}

// react handles what has happened.
func (s *session) react() error {
	s.evs = s.events.take(s.evs)
	for _, e := range s.evs {
		switch {
		case e.failed != nil:
			return e.failed
		case e.early:
			s.early = true
		case e.changed != nil:
			s.changed = e.changed
		case e.ended != nil:
			s.endedN++
		case e.wakeAll:
			for _, r := range s.runners {
				s.wake(r)
			}
		case e.group != nil:
			if err := s.rebalance(e.group); err != nil {
				return err
			}
		case e.restored != nil:
			if err := s.take(e.restored); err != nil {
				return err
			}
		case e.prepared != nil:
			if s.inflight.take(e.prepared) {
				s.commit(s.inflight)
			}
		case e.committed != nil:
			if e.committed.err != nil {
				return e.committed.err
			}
			if err := s.applied(e.committed); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish takes a last checkpoint and ends the session.
func (s *session) finish() error {
	s.app.setState("stopping", nil)
	deadline := time.NewTimer(s.config.StopTimeout)
	defer deadline.Stop()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for _, r := range s.runners {
		r.stopFeeds()
	}
	for s.inflight != nil || s.final == 0 {
		if s.inflight == nil {
			s.final = s.n + 1
			s.begin()
		}
		select {
		case <-deadline.C:
			return ErrStopTimeout
		case <-s.events.news:
		case <-ticker.C:
			s.wakeDue()
		}
		if err := s.react(); err != nil {
			return err
		}
	}
	s.clean = true
	s.carryRest(deadline.C)
	return nil
}
