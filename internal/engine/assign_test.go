package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

// refsOf are n tasks of each sub-topology, a partition each.
func refsOf(n int, subs ...string) (refs []taskRef) {
	for _, name := range subs {
		sub := &Sub{Name: name}
		for p := range n {
			refs = append(refs, taskRef{sub, p, []wire.TopicPartition{{Topic: name, Partition: int32(p)}}})
		}
	}
	return refs
}

func member(id string, owned ...wire.TopicPartition) wire.Member {
	return wire.Member{ID: id, Instance: id, Owned: owned, UserData: memberData{Version: 1, Instance: id}.encode()}
}

// TestPlanIsWholeBalancedAndSticky plays members that come and go: every task has one owner, no sub-topology is uneven, and what need not
// move stays.
func TestPlanIsWholeBalancedAndSticky(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		refs := refsOf(1+rng.IntN(12), "a", "b", "c")
		owned := map[string][]wire.TopicPartition{"m0": nil}
		for step := range 8 {
			if rng.IntN(3) == 0 && len(owned) > 1 {
				for id := range owned {
					delete(owned, id)
					break
				}
			} else {
				owned[fmt.Sprint("m", step+1)] = nil
			}
			var members []wire.Member
			for id, parts := range owned {
				members = append(members, member(id, parts...))
			}
			got := plan(refs, members, false)
			where := map[wire.TopicPartition]string{}
			perSub := map[string]map[string]int{}
			for id, a := range got {
				for _, p := range a.Partitions {
					if other, twice := where[p]; twice {
						t.Fatalf("seed %d: %v is given to %s and %s", seed, p, other, id)
					}
					where[p] = id
					if perSub[p.Topic] == nil {
						perSub[p.Topic] = map[string]int{}
					}
					perSub[p.Topic][id]++
				}
			}
			if len(where) != len(refs) {
				t.Fatalf("seed %d: %d of %d tasks are given", seed, len(where), len(refs))
			}
			for sub, n := range perSub {
				most := (len(refs)/3 + len(members) - 1) / len(members)
				for id, k := range n {
					if k > most {
						t.Fatalf("seed %d: %s has %d tasks of %s, its share is %d", seed, id, k, sub, most)
					}
				}
			}
			for id, parts := range owned {
				most := (len(refs)/3 + len(members) - 1) / len(members)
				for _, topic := range []string{"a", "b", "c"} {
					had, kept := 0, 0
					for _, p := range parts {
						if p.Topic == topic {
							had++
							if where[p] == id {
								kept++
							}
						}
					}
					if kept < min(had, most) {
						t.Fatalf("seed %d: %s had %d tasks of %s, may have %d and kept %d", seed, id, had, topic, most, kept)
					}
				}
			}
			for id := range owned {
				owned[id] = got[id].Partitions
			}
		}
	}
}

func TestPlanKeepsLocalExchangesTogether(t *testing.T) {
	refs := refsOf(4, "a", "b")
	got := plan(refs, []wire.Member{member("x"), member("y", wire.TopicPartition{Topic: "b", Partition: 1}), member("z")}, true)
	if n := len(got["y"].Partitions); n != 8 || len(got) != 3 {
		t.Errorf("the member that held something has %d of 8 partitions", n)
	}
}

func TestPlanGoesWhereTheStateIs(t *testing.T) {
	refs := refsOf(2, "a")
	warm := member("y")
	warm.UserData = memberData{Version: 1, Instance: "y", Tasks: []string{"a/0"}}.encode()
	got := plan(refs, []wire.Member{member("x"), warm}, false)
	if !slices.Contains(got["y"].Partitions, refs[0].partitions[0]) {
		t.Errorf("got %v", got)
	}
}

// TestPlanBearsOtherVersions: user data that cannot be read is a problem of the member, not of the group.
func TestPlanBearsOtherVersions(t *testing.T) {
	odd := wire.Member{ID: "odd", UserData: []byte{0xff, 0x00}}
	got := plan(refsOf(3, "a"), []wire.Member{odd, member("x")}, false)
	if len(got["odd"].Partitions)+len(got["x"].Partitions) != 3 {
		t.Errorf("got %v", got)
	}
}

func TestOwnedBy(t *testing.T) {
	sub := &Sub{Name: "joined"}
	both := taskRef{sub, 0, []wire.TopicPartition{{Topic: "a"}, {Topic: "b"}}}
	file := taskRef{&Sub{Name: "file"}, 0, nil}
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
