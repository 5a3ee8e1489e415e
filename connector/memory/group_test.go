package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
)

// A seat is a process in group g that wants a share of topic t's partitions.
type seat struct {
	*testing.T
	log wire.Log
	m   wire.Membership
}

// spread gives each partition to a member by its number, in the order of members.
func spread(n int32) func([]wire.Member) map[string]wire.Assignment {
	return func(members []wire.Member) map[string]wire.Assignment {
		plan := map[string]wire.Assignment{}
		for p := range n {
			id := members[int(p)%len(members)].ID
			a := plan[id]
			a.Partitions = append(a.Partitions, wire.TopicPartition{Topic: "t", Partition: p})
			a.UserData = fmt.Appendf(nil, "of %d members", len(members))
			plan[id] = a
		}
		return plan
	}
}

func groupCluster(t *testing.T) *memory.Cluster {
	t.Helper()
	c := &memory.Cluster{Start: epoch}
	if err := c.Create("t", 4, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func join(t *testing.T, c *memory.Cluster, instance string) *seat {
	t.Helper()
	s := &seat{T: t, log: connect(t, c)}
	var err error
	s.m, err = s.log.Join(t.Context(), wire.GroupConfig{
		Group: "g", Instance: instance, Topics: []string{"t"}, SessionTimeout: 10 * time.Second, RebalanceTimeout: 30 * time.Second,
		UserData: func() []byte { return []byte("data of " + instance) },
		Plan:     spread(4),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// next is the event that is there, as text: "+0 1 gen 3" what is held now, "-1" what is to be released, "lost".
func (s *seat) next() string {
	s.Helper()
	select {
	case e, open := <-s.m.Events():
		switch {
		case !open:
			return "closed"
		case e.Assigned != nil:
			return fmt.Sprintf("+%s gen %d", numbers(e.Assigned.Partitions), e.Assigned.Generation)
		case e.Lost != nil:
			return "lost"
		default:
			return "-" + numbers(e.Revoked)
		}
	default:
		return ""
	}
}

func (s *seat) expect(events ...string) {
	s.Helper()
	for _, want := range events {
		if got := s.next(); got != want {
			s.Fatalf("event is %q, want %q", got, want)
		}
	}
	if got := s.next(); got != "" {
		s.Fatalf("event %q too much", got)
	}
}

func (s *seat) release(numbers ...int32) {
	var parts []wire.TopicPartition
	for _, n := range numbers {
		parts = append(parts, wire.TopicPartition{Topic: "t", Partition: n})
	}
	s.m.Release(parts)
}

// commits reports what becomes of a commit by this member.
func (s *seat) commits(who wire.Identity) error {
	return s.log.CommitPlain(s.Context(), who, []wire.Position{{TopicPartition: wire.TopicPartition{Topic: "t"}, Committed: wire.Committed{Offset: 1}}})
}

func numbers(parts []wire.TopicPartition) string {
	var n []int32
	for _, p := range parts {
		n = append(n, p.Partition)
	}
	return fmt.Sprint(n)
}

func TestPartitionsMoveWhenTheyAreReleased(t *testing.T) {
	c := groupCluster(t)
	a := join(t, c, "")
	a.expect("+[0 1 2 3] gen 1")
	b := join(t, c, "")
	a.expect("-[1 3]", "+[0 2] gen 2")
	b.expect("+[] gen 2")
	a.release(1)
	b.expect()
	a.release(3)
	a.expect("+[0 2] gen 3")
	b.expect("+[1 3] gen 3")
	if err := b.m.Leave(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	b.expectClosed(nil)
	a.expect("+[0 1 2 3] gen 4")
}

func (s *seat) expectClosed(want error) {
	s.Helper()
	if got := s.next(); got != "closed" {
		s.Fatalf("event is %q, want none any more", got)
	}
	if err := s.m.Err(); !errors.Is(err, want) {
		s.Fatalf("Err is %v, want %v", err, want)
	}
}

func TestGenerationsFence(t *testing.T) {
	c := groupCluster(t)
	a := join(t, c, "")
	before := a.m.Identity()
	if err := a.commits(before); err != nil {
		t.Fatal(err)
	}
	b := join(t, c, "")
	if err := a.commits(before); !errors.Is(err, wire.ErrGeneration) {
		t.Errorf("commit of the last generation: %v", err)
	}
	if err := a.commits(a.m.Identity()); err != nil {
		t.Errorf("commit of this generation, in the middle of a revocation: %v", err)
	}
	gone := b.m.Identity()
	if err := b.m.Leave(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := b.commits(gone); !errors.Is(err, wire.ErrGeneration) {
		t.Errorf("commit of a member that left: %v", err)
	}
	if err := a.commits(wire.Identity{Group: "g", Generation: -1}); !errors.Is(err, wire.ErrGeneration) {
		t.Errorf("commit of nobody in a group with members: %v", err)
	}
}

func TestPlanSeesTheGroup(t *testing.T) {
	c := groupCluster(t)
	var seen [][]wire.Member
	l := connect(t, c)
	m, err := l.Join(t.Context(), wire.GroupConfig{
		Group: "g", Topics: []string{"t"}, UserData: func() []byte { return []byte("mine") },
		Plan: func(members []wire.Member) map[string]wire.Assignment {
			seen = append(seen, members)
			return spread(4)(members)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	join(t, c, "i")
	e := <-m.Events()
	if !e.Assigned.Leader || numbers(e.Assigned.Added) != "[0 1 2 3]" || string(e.Assigned.UserData) != "of 1 members" {
		t.Errorf("first event is %+v", e.Assigned)
	}
	last := seen[len(seen)-1]
	if len(last) != 2 || numbers(last[0].Owned) != "[0 1 2 3]" || len(last[1].Owned) != 0 || last[1].Instance != "i" ||
		string(last[0].UserData) != "mine" || string(last[1].UserData) != "data of i" || !slices.Equal(last[1].Topics, []string{"t"}) {
		t.Errorf("the leader saw %+v", last)
	}
	rounds := len(seen)
	m.Rejoin()
	if len(seen) != rounds {
		t.Errorf("a round was held while a member had something to release")
	}
	e = <-m.Events()
	m.Release(e.Revoked)
	if len(seen) != rounds+1 {
		t.Errorf("%d rounds after Rejoin and Release of %v, want one more than %d", len(seen), e.Revoked, rounds)
	}
	m.Rejoin()
	if len(seen) != rounds+2 {
		t.Errorf("%d rounds after Rejoin, want one more than %d", len(seen), rounds+1)
	}
}

func TestDeadMemberExpires(t *testing.T) {
	c := groupCluster(t)
	a, b := join(t, c, ""), join(t, c, "")
	a.release(1, 3)
	a.expect("+[0 1 2 3] gen 1", "-[1 3]", "+[0 2] gen 2", "+[0 2] gen 3")
	if err := b.log.Close(); err != nil {
		t.Fatal(err)
	}
	c.Advance(9 * time.Second)
	a.expect()
	c.Advance(time.Second)
	a.expect("+[0 1 2 3] gen 4")
	if err := b.commits(b.m.Identity()); err == nil {
		t.Error("a dead connection commits")
	}
}

func TestFrozenMemberLearnsThatItLost(t *testing.T) {
	c := groupCluster(t)
	a, b := join(t, c, ""), join(t, c, "")
	a.release(1, 3)
	b.expect("+[] gen 2", "+[1 3] gen 3")
	who := b.m.Identity()
	frozen := b.log.(interface {
		Freeze()
		Thaw()
	})
	frozen.Freeze()
	c.Advance(5 * time.Second)
	frozen.Thaw() // in time
	c.Advance(20 * time.Second)
	b.expect()
	frozen.Freeze()
	c.Advance(10 * time.Second)
	frozen.Thaw()
	b.expect("lost", "+[] gen 5")
	if err := b.commits(who); !errors.Is(err, wire.ErrGeneration) {
		t.Errorf("commit of the lost member: %v", err)
	}
	a.release(1, 3)
	b.expect("+[1 3] gen 6")
}

func TestStaticMemberComesBack(t *testing.T) {
	c := groupCluster(t)
	a, b := join(t, c, "a"), join(t, c, "b")
	a.release(1, 3)
	b.expect("+[] gen 2", "+[1 3] gen 3")
	if err := b.m.Leave(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	c.Advance(9 * time.Second)
	a.expect("+[0 1 2 3] gen 1", "-[1 3]", "+[0 2] gen 2", "+[0 2] gen 3")
	again := join(t, c, "b")
	again.expect("+[1 3] gen 3") // without a round, and nobody had to release anything
	a.expect()
	if err := again.commits(again.m.Identity()); err != nil {
		t.Error(err)
	}
	again.m.Rejoin()
	a.expect("+[0 2] gen 4")
	again.expect("+[1 3] gen 4")
}

func TestSecondProcessOfAnInstance(t *testing.T) {
	c := groupCluster(t)
	a := join(t, c, "i")
	who := a.m.Identity()
	b := join(t, c, "i")
	a.expect2("+[0 1 2 3] gen 1")
	a.expectClosed(wire.ErrFenced)
	b.expect("+[0 1 2 3] gen 1")
	if err := a.commits(who); !errors.Is(err, wire.ErrFenced) {
		t.Errorf("commit of the first process: %v, want ErrFenced", err)
	}
}

// What a static member was about to release when it died, the next process in its place does not know of. Nobody has it until there is a round.
func TestStaticMemberDiesBeforeItReleases(t *testing.T) {
	c := groupCluster(t)
	a := join(t, c, "a")
	b := join(t, c, "b")
	a.expect("+[0 1 2 3] gen 1", "-[1 3]", "+[0 2] gen 2")
	b.expect("+[] gen 2")
	if err := a.log.Close(); err != nil {
		t.Fatal(err)
	}
	again := join(t, c, "a")
	again.expect("+[0 2] gen 2")
	c.Advance(time.Minute)
	b.expect()
	again.m.Rejoin()
	again.expect("+[0 2] gen 3")
	b.expect("+[1 3] gen 3")
}

// expect2 is expect when the events end afterwards.
func (s *seat) expect2(want string) {
	s.Helper()
	if got := s.next(); got != want {
		s.Fatalf("event is %q, want %q", got, want)
	}
}

func TestRevocationTakesTooLong(t *testing.T) {
	c := groupCluster(t)
	a, b := join(t, c, ""), join(t, c, "")
	a.expect("+[0 1 2 3] gen 1", "-[1 3]", "+[0 2] gen 2")
	c.Advance(29 * time.Second)
	a.expect()
	c.Advance(time.Second)
	if got := a.next(); got != "lost" {
		t.Fatalf("event is %q, want lost", got)
	}
	b.expect("+[] gen 2", "+[0 2] gen 3") // the group goes on, and has a in it again
	a.expect("+[1 3] gen 3")
}

// A round waits for a member that is silent, for it may be back.
func TestRoundWaitsForSilentMember(t *testing.T) {
	c := groupCluster(t)
	a := join(t, c, "")
	a.expect("+[0 1 2 3] gen 1")
	a.log.(interface{ Freeze() }).Freeze()
	b := join(t, c, "")
	b.expect()
	a.log.(interface{ Thaw() }).Thaw()
	a.expect("-[1 3]", "+[0 2] gen 2")
	b.expect("+[] gen 2")
}
