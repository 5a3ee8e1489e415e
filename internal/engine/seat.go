package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weirstream/weir/internal/wire"
)

// A seat is the app's membership in its group. It outlives sessions: recovering from the last commit does not give tasks away.
type seat struct {
	m    wire.Membership
	news chan struct{} // a token while the assignment is news
	done chan struct{}

	mu struct {
		sync.Mutex
		assigned *wire.Assigned
		session  *session
		turn     chan struct{}         // closed when there is another generation, or none; made when somebody waits
		revoked  []wire.TopicPartition // that the session was told of and has not released
		asked    wire.Identity         // who asked for a round on its own account last
		err      error
	}
}

// join takes the seat. refs are all tasks, held what this process has on disk.
func join(ctx context.Context, log wire.Log, c wire.GroupConfig, threaded bool) (*seat, error) {
	m, err := log.Join(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("join group %s: %w", c.Group, err)
	}
	s := &seat{m: m, news: make(chan struct{}, 1), done: make(chan struct{})}
	if !threaded {
		close(s.done)
		return s, nil
	}
	go func() {
		defer close(s.done)
		for e := range m.Events() {
			s.take(e)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.err = m.Err()
		if s.mu.session != nil {
			s.mu.session.post(event{failed: fmt.Errorf("the seat in group %s is gone: %w", c.Group, seatError(m.Err()))})
		}
	}()
	return s, nil
}

// seatError names what took the seat.
func seatError(err error) error {
	if err == nil {
		return context.Canceled
	}
	return err
}

// poll takes the events that are there, for a driver without goroutines.
func (s *seat) poll() (any bool) {
	for {
		select {
		case e, ok := <-s.m.Events():
			if !ok {
				return any
			}
			s.take(e)
			any = true
		default:
			return any
		}
	}
}

// take notes an event and passes it on to the session.
func (s *seat) take(e wire.GroupEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Assigned != nil:
		s.mu.assigned = e.Assigned
		select {
		case s.news <- struct{}{}:
		default:
		}
	case e.Lost != nil:
		s.mu.assigned, s.mu.revoked = nil, nil
	}
	if s.mu.turn != nil && e.Revoked == nil {
		close(s.mu.turn)
		s.mu.turn = nil
	}
	if s.mu.session != nil {
		s.mu.revoked = append(s.mu.revoked, e.Revoked...)
		s.mu.session.post(event{group: &e})
		return
	}
	if e.Revoked != nil { // between two sessions nothing is held
		s.letGo(e.Revoked)
	}
}

// turned is closed when the seat hears of another generation than the one that it has now, or is lost.
func (s *seat) turned() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.turn == nil {
		s.mu.turn = make(chan struct{})
	}
	return s.mu.turn
}

// asks has the group hold a round, once in a generation, and reports whether it does so now.
func (s *seat) asks() bool {
	who := s.m.Identity()
	s.mu.Lock()
	asked := s.mu.asked == who
	s.mu.asked = who
	s.mu.Unlock()
	if !asked {
		s.m.Rejoin()
	}
	return !asked
}

// letGo releases what no session holds, and begins none with it. s.mu is held.
func (s *seat) letGo(parts []wire.TopicPartition) {
	if a := s.mu.assigned; a != nil {
		left := *a
		left.Partitions = slices.DeleteFunc(slices.Clone(a.Partitions), func(p wire.TopicPartition) bool { return slices.Contains(parts, p) })
		s.mu.assigned = &left
	}
	s.m.Release(parts)
}

// release gives up what was revoked from the session.
func (s *seat) release(parts []wire.TopicPartition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.revoked = slices.DeleteFunc(s.mu.revoked, func(p wire.TopicPartition) bool { return slices.Contains(parts, p) })
	s.m.Release(parts)
}

// assigned waits for an assignment, ties the session to the seat, and returns what is held. A driver does not wait.
func (s *seat) assigned(ctx context.Context, ses *session) (*wire.Assigned, error) {
	return s.await(ctx, ses.threaded, func(*wire.Assigned) bool {
		s.mu.session = ses
		return true
	})
}

// settle waits for what a new seat holds. A broker gives a static member that comes back what it had, without a round. When that was planned for
// another state of this process, the seat asks for one round, and until it is there holds what it holds without beginning any of it.
// What the answer to it says is taken, whatever it is; so is the old one when the answer does not come while members may take to join.
func (s *seat) settle(ctx context.Context, ses *session, outdated func(*wire.Assigned) bool) error {
	first, err := s.await(ctx, ses.threaded, func(*wire.Assigned) bool { return true })
	if err != nil || !outdated(first) {
		return err
	}
	ses.app.log.Info("what this process was given is from before it lost its state or was changed: asking for a new round")
	s.m.Rejoin()
	waiting, cancel := context.WithTimeout(ctx, rebalanceTimeout(ses.config))
	defer cancel()
	_, err = s.await(waiting, ses.threaded, func(a *wire.Assigned) bool { return a.Generation != first.Generation || a.Member != first.Member })
	if waiting.Err() != nil && ctx.Err() == nil || errors.Is(err, errNoAssignment) {
		return nil
	}
	return err
}

var errNoAssignment = errors.New("the group gave no assignment")

// await waits for an assignment that is the right one, which is asked under the lock. A driver does not wait.
func (s *seat) await(ctx context.Context, threaded bool, right func(*wire.Assigned) bool) (*wire.Assigned, error) {
	for {
		if !threaded {
			s.poll()
		}
		s.mu.Lock()
		a, err := s.mu.assigned, s.mu.err
		found := a != nil && right(a)
		s.mu.Unlock()
		if found {
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		if !threaded {
			return nil, errNoAssignment
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.done:
			return nil, seatError(s.m.Err())
		case <-s.news:
		}
	}
}

// detach ends the session's part: revocations are answered by the seat itself, and so are those that the session leaves behind when it fails
// before it has followed them. The others would wait for them until the rebalance timeout, and then this process would lose its seat.
func (s *seat) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.session = nil
	if len(s.mu.revoked) > 0 {
		s.letGo(s.mu.revoked)
		s.mu.revoked = nil
	}
}

// leave gives the seat up, or with stay keeps it for a restart.
func (s *seat) leave(ctx context.Context, stay bool) error {
	err := s.m.Leave(ctx, stay)
	<-s.done
	return err
}
