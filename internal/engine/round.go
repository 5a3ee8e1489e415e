package engine

import (
	"cmp"
	"log/slog"
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// rounds say why the group holds one, as far as its leader can tell: every round costs each member a join, and one that nobody can explain is one too
// many. One goroutine plans at a time.
type rounds struct {
	last []string // who was in the last one that was planned here
}

// A round is what its leader sees of it. Partitions stand for tasks, of which most have one.
type round struct {
	first      bool     // that is planned here: nobody knows who was there before
	came, went []string // since the last one
	takes      int      // partitions that nobody has and somebody gets
	moves      int      // that somebody has and is to give up
}

// note compares a plan with the members and with the round before.
func (r *rounds) note(members []wire.Member, plan map[string]wire.Assignment) (n round) {
	owner := map[wire.TopicPartition]string{}
	var now []string
	for _, m := range members {
		now = append(now, cmp.Or(m.Instance, m.ID))
		for _, at := range m.Owned {
			owner[at] = m.ID
		}
	}
	for id, a := range plan {
		for _, at := range a.Partitions {
			switch has, owned := owner[at]; {
			case !owned:
				n.takes++
			case has != id:
				n.moves++
			}
		}
	}
	if n.first = r.last == nil; !n.first {
		n.came, n.went = without(now, r.last), without(r.last, now)
	}
	r.last = now
	return n
}

// without are those of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// why is the reason, in words.
func (n round) why() string {
	switch {
	case n.first:
		return "the first that this process leads"
	case len(n.came) > 0:
		return "members came"
	case len(n.went) > 0:
		return "members went"
	case n.takes > 0:
		return "members gave up what others take"
	}
	return "a member asked"
}

func (n round) tell(log *slog.Logger, members int) {
	log.Info("leading a round of the group", "why", n.why(), "members", members, "came", n.came, "went", n.went, "taken", n.takes, "to give up", n.moves)
}
