package engine

import (
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

// TestRoundsHaveReasons follows a leader through what can begin a round.
func TestRoundsHaveReasons(t *testing.T) {
	at := func(partitions ...int32) (out []wire.TopicPartition) {
		for _, p := range partitions {
			out = append(out, wire.TopicPartition{Topic: "t", Partition: p})
		}
		return out
	}
	member := func(id string, owned ...int32) wire.Member { return wire.Member{ID: id, Owned: at(owned...)} }
	r := &rounds{}
	for _, step := range []struct {
		members []wire.Member
		plan    map[string]wire.Assignment
		why     string
		takes   int
		moves   int
	}{
		{[]wire.Member{member("a")}, map[string]wire.Assignment{"a": {Partitions: at(0, 1)}}, "the first that this process leads", 2, 0},
		{[]wire.Member{member("a", 0, 1), member("b")}, map[string]wire.Assignment{"a": {Partitions: at(0)}, "b": {Partitions: at(1)}}, "members came", 0, 1},
		{[]wire.Member{member("a", 0), member("b")}, map[string]wire.Assignment{"a": {Partitions: at(0)}, "b": {Partitions: at(1)}}, "members gave up what others take", 1, 0},
		{[]wire.Member{member("a", 0), member("b", 1)}, map[string]wire.Assignment{"a": {Partitions: at(0)}, "b": {Partitions: at(1)}}, "a member asked", 0, 0},
		{[]wire.Member{member("a", 0)}, map[string]wire.Assignment{"a": {Partitions: at(0, 1)}}, "members went", 1, 0},
	} {
		n := r.note(step.members, step.plan)
		if n.why() != step.why || n.takes != step.takes || n.moves != step.moves {
			t.Errorf("%v: %q, %+v; want %q, %d taken, %d to give up", step.members, n.why(), n, step.why, step.takes, step.moves)
		}
	}
}
