package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// ask sends a request that has a fate. Every connection has the same name here: the judge is there for this one only.
func (s *seat) ask(c *memory.Cluster, f faults.Fate) {
	s.Helper()
	c.Judge = faults.JudgeFunc(func(faults.Request) faults.Fate { return f })
	_, err := s.log.Topics(s.Context(), "t")
	c.Judge = nil
	if lost := f.Drop || f.Lose; lost != errors.Is(err, faults.ErrLost) {
		s.Fatalf("with %+v: %v", f, err)
	}
}

// A member whose requests are lost falls silent, is given up, and hears of it when it is back. Until then it is who it was.
func TestMemberThatIsCutOff(t *testing.T) {
	c := groupCluster(t)
	a, b := join(t, c, ""), join(t, c, "")
	a.expect("+[0 1 2 3] gen 1", "-[1 3]", "+[0 2] gen 2")
	a.release(1, 3)
	a.expect("+[0 2] gen 3")
	b.expect("+[] gen 2", "+[1 3] gen 3")
	was := b.m.Identity()
	b.ask(c, faults.Fate{Drop: true, Parted: true})
	c.Advance(11 * time.Second)
	a.expect("+[0 1 2 3] gen 4")
	b.expect()
	if now := b.m.Identity(); now != was {
		t.Errorf("it takes itself for %+v, and was %+v", now, was)
	}
	b.ask(c, faults.Fate{})
	if got := b.next(); got != "lost" {
		t.Errorf("it hears %q", got)
	}
	if err := b.commits(was); !errors.Is(err, wire.ErrGeneration) {
		t.Errorf("as who it was it commits: %v", err)
	}
}

// A member that gets no answers keeps its seat and does not hear what it has to release; what it releases gets there when it is back.
func TestMemberThatHearsNothing(t *testing.T) {
	c := groupCluster(t)
	a := join(t, c, "")
	a.expect("+[0 1 2 3] gen 1")
	a.ask(c, faults.Fate{Lose: true, Parted: true})
	b := join(t, c, "")
	c.Advance(11 * time.Second)
	a.expect()
	b.expect("+[] gen 2")
	if err := a.commits(a.m.Identity()); !errors.Is(err, wire.ErrGeneration) {
		t.Errorf("as one of generation 1 it commits: %v", err)
	}
	a.expect("-[1 3]", "+[0 2] gen 2") // a request without a judge has healed it
	a.release(1, 3)
	a.expect("+[0 2] gen 3")
	b.expect("+[1 3] gen 3")
}
