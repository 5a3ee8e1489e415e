package engine

import (
	"slices"
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

// refsOf are n tasks of each sub-topology, a partition each.
func refsOf(n int, subs ...string) (refs []taskRef) {
	for _, name := range subs {
		sub := &Sub{Name: name}
		for p := range n {
			refs = append(refs, taskRef{sub: sub, partition: p, partitions: []wire.TopicPartition{{Topic: name, Partition: int32(p)}}})
		}
	}
	return refs
}

func member(id string, owned ...wire.TopicPartition) wire.Member {
	return wire.Member{ID: id, Instance: id, Owned: owned, UserData: memberData{Version: memberVersion, Instance: id}.encode()}
}

func TestPlanKeepsLocalExchangesTogether(t *testing.T) {
	refs := refsOf(4, "a", "b")
	got := plan(refs, []wire.Member{member("x"), member("y", wire.TopicPartition{Topic: "b", Partition: 1}), member("z")}, placing{together: true})
	if n := len(got["y"].Partitions); n != 8 || len(got) != 3 {
		t.Errorf("the member that held something has %d of 8 partitions", n)
	}
}

func TestPlanGoesWhereTheStateIs(t *testing.T) {
	refs := refsOf(2, "a")
	warm := member("y")
	warm.UserData = memberData{Version: 1, Instance: "y", State: map[string]int64{"a/0": 7}}.encode()
	got := plan(refs, []wire.Member{member("x"), warm}, placing{moveLag: 10})
	if !slices.Contains(got["y"].Partitions, refs[0].partitions[0]) {
		t.Errorf("got %v", got)
	}
}

// TestPlanBearsOtherVersions: user data that cannot be read is a problem of the member, not of the group.
func TestPlanBearsOtherVersions(t *testing.T) {
	odd := wire.Member{ID: "odd", UserData: []byte{0xff, 0x00}}
	got := plan(refsOf(3, "a"), []wire.Member{odd, member("x")}, placing{})
	if len(got["odd"].Partitions)+len(got["x"].Partitions) != 3 {
		t.Errorf("got %v", got)
	}
}

func TestOwnedBy(t *testing.T) {
	sub := &Sub{Name: "joined"}
	both := taskRef{sub: sub, partitions: []wire.TopicPartition{{Topic: "a"}, {Topic: "b"}}}
	file := taskRef{sub: &Sub{Name: "file"}}
	given := func(told []string, parts ...wire.TopicPartition) *wire.Assigned {
		return &wire.Assigned{Assignment: wire.Assignment{Partitions: parts, UserData: memberData{Version: 1, Tasks: told}.encode()}}
	}
	refs := []taskRef{both, file}
	if got := ownedBy(refs, given(nil, wire.TopicPartition{Topic: "a"})); len(got) != 0 {
		t.Errorf("with one of two partitions: %v", got)
	}
	if got := ownedBy(refs, given([]string{"file/0"}, wire.TopicPartition{Topic: "a"}, wire.TopicPartition{Topic: "b"})); len(got) != 2 {
		t.Errorf("with everything: %v", got)
	}
}
