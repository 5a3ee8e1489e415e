package wiretest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

func testGroup(t *testing.T, c Cluster) {
	t.Run("OneHoldsAll", func(t *testing.T) {
		k := c.start(t)
		s := k.join(k.name, k.topic("t", 4), "")
		s.holds(0, 1, 2, 3)
		last := s.last()
		who := s.m.Identity()
		if !last.Leader || len(last.Added) != 4 || string(last.UserData) != "1 members" || last.Generation != who.Generation || last.Member != who.Member {
			t.Errorf("assigned %+v to %+v", last, who)
		}
	})
	t.Run("PartitionsMoveWhenReleased", func(t *testing.T) {
		k := c.start(t)
		topic := k.topic("t", 4)
		a := k.join(k.name, topic, "")
		a.holds(0, 1, 2, 3)
		a.keep() // releases only when told
		b := k.join(k.name, topic, "")
		moved := a.revoked(2)
		b.awaitEvent()
		b.holds() // nothing, as long as a has it
		a.m.Release(moved[:1])
		b.holds()
		a.m.Release(moved[1:])
		b.holds(numbers(moved)...)
		if n := len(a.last().Partitions); n != 2 {
			t.Errorf("a holds %d partitions, want the two that did not move", n)
		}
	})
	t.Run("WhatDoesNotMoveRunsOn", func(t *testing.T) {
		k := c.start(t)
		topic := k.topic("t", 4)
		a := k.join(k.name, topic, "")
		a.holds(0, 1, 2, 3)
		b := k.join(k.name, topic, "")
		b.count(2)
		a.count(2)
		stayed := a.last().Partitions
		for _, p := range a.everRevoked() {
			if slices.Contains(stayed, p) {
				t.Errorf("%v was revoked and came back", p)
			}
		}
		k.must(b.m.Leave(k.ctx, false))
		b.ends(nil)
		a.holds(0, 1, 2, 3)
	})
	t.Run("LeaderSeesTheGroup", func(t *testing.T) {
		k := c.start(t)
		topic := k.topic("t", 2)
		a := k.join(k.name, topic, "a")
		a.holds(0, 1)
		b := k.join(k.name, topic, "b")
		b.count(1)
		var seen []wire.Member
		for _, s := range []*seat{a, b} {
			if plans := s.planned(); len(plans) > len(seen) {
				seen = plans
			}
		}
		slices.SortFunc(seen, func(x, y wire.Member) int { return len(y.Owned) - len(x.Owned) })
		if len(seen) != 2 || seen[0].Instance+seen[1].Instance != "ab" && seen[0].Instance+seen[1].Instance != "ba" {
			t.Fatalf("the leader saw %+v", seen)
		}
		for _, m := range seen {
			if string(m.UserData) != "data of "+m.Instance || !slices.Equal(m.Topics, []string{topic}) || m.ID == "" {
				t.Errorf("the leader saw %+v", m)
			}
		}
	})
	t.Run("GenerationsFence", func(t *testing.T) {
		k := c.start(t)
		topic := k.topic("t", 2)
		a := k.join(k.name, topic, "")
		a.holds(0, 1)
		before := a.m.Identity()
		position := []wire.Position{{TopicPartition: at(topic, 0), Committed: wire.Committed{Offset: 1}}}
		k.must(k.log.CommitPlain(k.ctx, before, position))
		k.is(k.log.CommitPlain(k.ctx, nobody(k.name), position), wire.ErrGeneration)
		b := k.join(k.name, topic, "")
		b.count(1)
		k.is(k.log.CommitPlain(k.ctx, before, position), wire.ErrGeneration)
		// The round that moves what was revoked may come between reading the identity and sending it: then it is read again.
		err := k.log.CommitPlain(k.ctx, a.m.Identity(), position)
		for errors.Is(err, wire.ErrGeneration) && k.ctx.Err() == nil {
			err = k.log.CommitPlain(k.ctx, a.m.Identity(), position)
		}
		k.must(err)
	})
	t.Run("RejoinMakesARound", func(t *testing.T) {
		k := c.start(t)
		a := k.join(k.name, k.topic("t", 1), "")
		a.holds(0)
		before := a.last().Generation
		a.m.Rejoin()
		a.wait("a new generation", func() bool { return a.mu.last.Generation > before })
		a.holds(0)
		if len(a.everRevoked()) != 0 {
			t.Errorf("a round took %v away", a.everRevoked())
		}
	})
	t.Run("StaticMemberComesBack", func(t *testing.T) {
		k := c.start(t)
		topic := k.topic("t", 4)
		a := k.join(k.name, topic, "a")
		a.holds(0, 1, 2, 3)
		b := k.join(k.name, topic, "b")
		b.count(2)
		a.count(2)
		held, gone := b.last().Partitions, len(a.everRevoked())
		k.must(b.m.Leave(k.ctx, true))
		b.ends(nil)
		again := k.join(k.name, topic, "b")
		again.holds(numbers(held)...)
		a.count(2)
		if len(a.everRevoked()) != gone {
			t.Error("a restart of b took something from a")
		}
	})
	t.Run("InstanceIsTakenOver", func(t *testing.T) {
		k := c.start(t)
		topic := k.topic("t", 2)
		a := k.join(k.name, topic, "i")
		a.holds(0, 1)
		who := a.m.Identity()
		b := k.join(k.name, topic, "i")
		b.holds(0, 1)
		a.ends(wire.ErrFenced)
		k.is(k.log.CommitPlain(k.ctx, who, []wire.Position{{TopicPartition: at(topic, 0)}}), wire.ErrFenced)
	})
}

// A seat is a membership whose events are read as they come. It releases at once what is revoked, unless keep was called.
type seat struct {
	*kit
	topic string
	m     wire.Membership

	mu struct {
		sync.Mutex
		keep    bool
		events  int
		last    wire.Assigned
		pending []wire.TopicPartition // revoked since keep
		revoked []wire.TopicPartition // ever
		planned []wire.Member         // what Plan saw last
		ended   bool
		change  chan struct{}
	}
}

// join joins with a plan that gives the partitions of one topic to members in turn, and leaves each what it has as far as it can.
func (k *kit) join(group, topic, instance string) *seat {
	k.Helper()
	s := &seat{kit: k, topic: topic}
	s.mu.change = make(chan struct{})
	described, err := k.log.Topics(k.ctx, topic)
	k.must(err)
	count := described[topic].Partitions
	s.m, err = k.log.Join(k.ctx, wire.GroupConfig{
		Group: group, Instance: instance, Topics: []string{topic},
		SessionTimeout: 20 * time.Second, RebalanceTimeout: 20 * time.Second,
		UserData: func() []byte { return []byte("data of " + instance) },
		Plan: func(members []wire.Member) map[string]wire.Assignment {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.mu.planned = members
			return share(members, topic, count)
		},
	})
	k.must(err)
	var reading sync.WaitGroup
	reading.Go(s.read)
	k.Cleanup(func() {
		_ = s.m.Leave(k.ctx, false)
		reading.Wait()
	})
	return s
}

// share gives everyone an equal share: first of what is its own, then of the rest.
func share(members []wire.Member, topic string, count int32) map[string]wire.Assignment {
	plan, given := map[string]wire.Assignment{}, map[int32]bool{}
	give := func(m wire.Member, p int32) {
		a := plan[m.ID]
		if room := int(count) / len(members); given[p] || len(a.Partitions) == room && room > 0 {
			return
		}
		given[p] = true
		a.Partitions = append(a.Partitions, at(topic, p))
		plan[m.ID] = a
	}
	for _, m := range members {
		for _, p := range m.Owned {
			give(m, p.Partition)
		}
	}
	for p := range count {
		for _, m := range members {
			give(m, p)
		}
	}
	for _, m := range members {
		a := plan[m.ID]
		a.UserData = fmt.Appendf(nil, "%d members", len(members))
		plan[m.ID] = a
	}
	return plan
}

func (s *seat) read() {
	for e := range s.m.Events() {
		s.mu.Lock()
		release := e.Revoked
		s.mu.events++
		switch {
		case e.Assigned != nil:
			s.mu.last = *e.Assigned
		case s.mu.keep:
			s.mu.pending = append(s.mu.pending, e.Revoked...)
			release = nil
		}
		s.mu.revoked = append(s.mu.revoked, e.Revoked...)
		s.changedLocked()
		s.mu.Unlock()
		if len(release) > 0 {
			s.m.Release(release)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.ended = true
	s.changedLocked()
}

func (s *seat) changedLocked() {
	close(s.mu.change)
	s.mu.change = make(chan struct{})
}

// wait returns when done, which is asked with mu held, after each event.
func (s *seat) wait(what string, done func() bool) {
	s.Helper()
	for {
		s.mu.Lock()
		ok, change, last := done(), s.mu.change, s.mu.last
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-change:
		case <-s.ctx.Done():
			s.Fatalf("waited for %s; last assigned was %+v", what, last)
		}
	}
}

// holds waits until the last assignment is exactly these.
func (s *seat) holds(want ...int32) {
	s.Helper()
	s.wait(fmt.Sprintf("partitions %v", want), func() bool { return slices.Equal(numbers(s.mu.last.Partitions), want) })
}

// count waits until the last assignment has n partitions.
func (s *seat) count(n int) {
	s.Helper()
	s.wait(fmt.Sprintf("%d partitions", n), func() bool { return len(s.mu.last.Partitions) == n })
}

func (s *seat) awaitEvent() {
	s.Helper()
	s.wait("an event", func() bool { return s.mu.events > 0 })
}

// revoked waits until n partitions are to be released.
func (s *seat) revoked(n int) []wire.TopicPartition {
	s.Helper()
	s.wait(fmt.Sprintf("%d revoked partitions", n), func() bool { return len(s.mu.pending) == n })
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.pending)
}

// ends waits for the end of the events, for this reason.
func (s *seat) ends(want error) {
	s.Helper()
	s.wait("the end of the membership", func() bool { return s.mu.ended })
	s.is(s.m.Err(), want)
}

func (s *seat) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.keep = true
}

func (s *seat) last() wire.Assigned {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.last
}

func (s *seat) everRevoked() []wire.TopicPartition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.revoked)
}

func (s *seat) planned() []wire.Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.planned
}
