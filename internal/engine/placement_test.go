package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

// A crowd is a group whose members come and go. It plays what a membership does: who has a partition gives it up before another gets
// it, and that takes a round more.
type crowd struct {
	t       *testing.T
	refs    []taskRef
	how     placing
	members map[string]*one
	rounds  int
	probes  int
	moved   map[string]int // how often a task changed hands
}

// one is a member of a crowd.
type one struct {
	id, rack string
	owned    map[wire.TopicPartition]bool
	state    map[string]int64
	told     memberData
	runs     map[string]bool
}

func newCrowd(t *testing.T, refs []taskRef, how placing) *crowd {
	return &crowd{t: t, refs: refs, how: how, members: map[string]*one{}, moved: map[string]int{}}
}

func (c *crowd) join(id, rack string, state map[string]int64) *one {
	m := &one{id: id, rack: rack, owned: map[wire.TopicPartition]bool{}, state: map[string]int64{}, runs: map[string]bool{}}
	maps.Copy(m.state, state)
	c.members[id] = m
	return m
}

// round holds one, and reports whether somebody had to give something up, which makes another one necessary.
func (c *crowd) round() (again bool) {
	c.rounds++
	var seats []wire.Member
	owner := map[wire.TopicPartition]string{}
	for id, m := range c.members {
		seats = append(seats, wire.Member{ID: id, Instance: id, Owned: slices.Collect(maps.Keys(m.owned)),
			UserData: memberData{Version: memberVersion, Instance: id, Rack: m.rack, State: m.state, Next: m.told.Next}.encode()})
		for p := range m.owned {
			owner[p] = id
		}
	}
	rand.New(rand.NewPCG(uint64(c.rounds), 7)).Shuffle(len(seats), func(i, j int) { seats[i], seats[j] = seats[j], seats[i] })
	got := plan(c.refs, seats, c.how)
	c.judge(got, owner)
	for id, m := range c.members {
		m.told = decodeMember(got[id].UserData)
		now := map[wire.TopicPartition]bool{}
		for _, p := range got[id].Partitions {
			if o, held := owner[p]; !held || o == id {
				now[p] = true
			} else {
				again = true
			}
		}
		m.owned = now
		m.settle(c)
	}
	return again
}

// settle notes which tasks a member has: their state is whole from now on.
func (m *one) settle(c *crowd) {
	runs := map[string]bool{}
	for _, t := range c.refs {
		if !slices.ContainsFunc(t.partitions, func(p wire.TopicPartition) bool { return !m.owned[p] }) {
			runs[t.name()] = true
			if !m.runs[t.name()] {
				c.moved[t.name()]++
			}
			if t.logged() {
				m.state[t.name()] = 0
			}
		}
	}
	m.runs = runs
}

// judge checks what must hold of every plan, whatever came before.
func (c *crowd) judge(got map[string]wire.Assignment, owner map[wire.TopicPartition]string) {
	c.t.Helper()
	given := map[wire.TopicPartition]string{}
	for id, a := range got {
		for _, p := range a.Partitions {
			if other, twice := given[p]; twice {
				c.t.Fatalf("%v is given to %s and %s", p, other, id)
			}
			given[p] = id
		}
	}
	for _, t := range c.refs {
		to := given[t.partitions[0]]
		for _, p := range t.partitions {
			if given[p] != to || to == "" {
				c.t.Fatalf("task %s: %v is given to %q and %v to %q", t.name(), t.partitions[0], to, p, given[p])
			}
		}
		copies := 0
		for id, m := range c.members {
			d := decodeMember(got[id].UserData)
			follows := slices.Contains(d.Follow, t.name())
			if follows && !t.logged() {
				c.t.Fatalf("%s follows %s, which has no state", id, t.name())
			}
			if follows {
				copies++
			}
			held := owner[t.partitions[0]]
			if follows && id == to && (held == "" || held == id) {
				c.t.Fatalf("%s follows %s and runs it", id, t.name())
			}
			if lag, known := m.state[t.name()]; id == to && held != "" && held != id && t.logged() && (!known || lag > c.how.moveLag) {
				c.t.Fatalf("%s moves from %s to %s, which lacks %d records (known: %v)", t.name(), held, id, lag, known)
			}
		}
		if most := len(c.members) - 1; t.logged() && !c.how.together && copies < min(most, c.how.standbys) {
			c.t.Fatalf("%s has %d copies with %d members, want %d", t.name(), copies, len(c.members), c.how.standbys)
		}
	}
}

// rest holds rounds until nothing is to be done. What is followed catches up in between.
func (c *crowd) rest() {
	c.t.Helper()
	for range 20 {
		for c.round() {
		}
		coming := false
		for _, m := range c.members {
			for _, name := range m.told.Follow {
				m.state[name] = 0
			}
			coming = coming || len(m.told.Coming) > 0
		}
		if !coming {
			return
		}
		c.probes++
	}
	c.t.Fatal("the group finds no rest")
}

// balanced checks what must hold of a group at rest.
func (c *crowd) balanced() {
	c.t.Helper()
	for _, sub := range bySub(c.refs) {
		least := len(sub) / len(c.members)
		for id, m := range c.members {
			n := 0
			for _, t := range sub {
				if m.runs[t.name()] {
					n++
				}
			}
			if n < least || n > least+1 || n > least && len(sub)%len(c.members) == 0 {
				c.t.Fatalf("%s has %d of %d tasks of %s, with %d members", id, n, len(sub), sub[0].sub.Name, len(c.members))
			}
		}
	}
}

// crowdTasks are a stateful sub-topology of two topics, one of one, and one without state.
func crowdTasks(n int) (refs []taskRef) {
	subs := []*Sub{
		{Name: "joined", Stores: []Store{{Name: "a", Changelog: true}, {Name: "b", Changelog: true}}},
		{Name: "counted", Stores: []Store{{Name: "c", Changelog: true}}},
		{Name: "passed"},
	}
	for i, sub := range subs {
		for p := range n + i {
			t := taskRef{sub: sub, partition: p, partitions: []wire.TopicPartition{{Topic: sub.Name, Partition: int32(p)}}}
			if i == 0 {
				t.partitions = append(t.partitions, wire.TopicPartition{Topic: "other", Partition: int32(p)})
			}
			refs = append(refs, t)
		}
	}
	return refs
}

// TestPlanOfRandomCrowds plays members that come, go and come back with old state: every task has one owner, moves to who is warm alone,
// and ends where the group is balanced; what is at rest stays so.
func TestPlanOfRandomCrowds(t *testing.T) {
	for seed := range uint64(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			c := newCrowd(t, crowdTasks(1+rng.IntN(12)), placing{standbys: rng.IntN(3), moveLag: 10})
			gone := map[string]map[string]int64{}
			c.join("m0", "r0", nil)
			changes := 1
			for step := range 6 {
				c.rest()
				c.balanced()
				was := map[string]map[string]bool{}
				for id, m := range c.members {
					was[id] = m.runs
				}
				if again := c.round(); again {
					t.Fatal("a group at rest moves tasks")
				}
				for id, m := range c.members {
					if !maps.Equal(was[id], m.runs) {
						t.Fatalf("%s had %v and has %v: nothing has changed", id, was[id], m.runs)
					}
				}
				c.rounds--
				changes++
				ids := slices.Sorted(maps.Keys(c.members))
				switch id := ids[rng.IntN(len(ids))]; {
				case rng.IntN(3) == 0 && len(ids) > 1:
					state := c.members[id].state
					for name := range state { // time goes by
						state[name] += int64(rng.IntN(20))
					}
					gone[id] = state
					delete(c.members, id)
				default:
					id := fmt.Sprint("m", step+1)
					for old := range gone {
						if rng.IntN(2) == 0 && c.members[old] == nil {
							id = old
						}
					}
					c.join(id, fmt.Sprint("r", rng.IntN(2)), gone[id])
				}
			}
			c.rest()
			c.balanced()
			if most := 2*changes + 2*c.probes; c.rounds > most {
				t.Errorf("%d generations for %d changes and %d probes", c.rounds, changes, c.probes)
			}
		})
	}
}

// TestRestartsMoveLittle has four members join one after the other, and then each leave and come back with its state: its share moves away
// and back, and nothing is taken from those that stay to give it to others that do.
func TestRestartsMoveLittle(t *testing.T) {
	sub := &Sub{Name: "counted", Stores: []Store{{Name: "c", Changelog: true}}}
	var refs []taskRef
	for p := range 32 {
		refs = append(refs, taskRef{sub: sub, partition: p, partitions: []wire.TopicPartition{{Topic: "in", Partition: int32(p)}}})
	}
	c := newCrowd(t, refs, placing{standbys: 1, moveLag: 10})
	for i := range 4 {
		c.join(fmt.Sprint("m", i), "", nil)
		c.rest()
		c.balanced()
	}
	for id := range c.members {
		m := c.members[id]
		before := map[string]map[string]bool{}
		for other, o := range c.members {
			before[other] = o.runs
		}
		delete(c.members, id)
		c.rest()
		for other, o := range c.members {
			for name := range before[other] {
				if !o.runs[name] {
					t.Errorf("%s was taken from %s, which stayed", name, other)
				}
			}
		}
		moved := maps.Clone(c.moved)
		c.members[id] = &one{id: id, owned: map[wire.TopicPartition]bool{}, state: m.state, runs: map[string]bool{}}
		c.rest()
		c.balanced()
		n := 0
		for name, times := range c.moved {
			n += times - moved[name]
		}
		if n != 8 {
			t.Errorf("%d tasks move when %s is back, want its share: 8", n, id)
		}
	}
}

// TestPlanSpreadsStandbys over racks first, and evenly within them.
func TestPlanSpreadsStandbys(t *testing.T) {
	refs := crowdTasks(12)
	c := newCrowd(t, refs, placing{standbys: 1, moveLag: 10})
	for i := range 4 {
		c.join(fmt.Sprint("m", i), fmt.Sprint("r", i%2), nil)
	}
	c.rest()
	copies := map[string]int{}
	for _, ref := range refs {
		for id, m := range c.members {
			if !slices.Contains(m.told.Follow, ref.name()) {
				continue
			}
			copies[id]++
			for _, o := range c.members {
				if o.runs[ref.name()] && o.rack == m.rack {
					t.Errorf("%s runs in rack %s, and its standby is there too", ref.name(), o.rack)
				}
			}
		}
	}
	for id, n := range copies {
		if n < 5 || n > 8 {
			t.Errorf("%s has %d copies of 25", id, n)
		}
	}
}

// TestPlanPromotesTheStandby: the tasks of a member that is gone go to who has copies of their state, even where that is uneven at first.
func TestPlanPromotesTheStandby(t *testing.T) {
	c := newCrowd(t, crowdTasks(8), placing{standbys: 1, moveLag: 10})
	for i := range 3 {
		c.join(fmt.Sprint("m", i), "", nil)
	}
	c.rest()
	lost := c.members["m1"].runs
	copies := map[string]string{}
	for _, id := range []string{"m0", "m2"} {
		for _, name := range c.members[id].told.Follow {
			copies[name] = id
		}
	}
	delete(c.members, "m1")
	c.round()
	for _, ref := range c.refs {
		if name := ref.name(); lost[name] && ref.logged() && !c.members[copies[name]].runs[name] {
			t.Errorf("%s did not go to %s, which has a copy", name, copies[name])
		}
	}
	c.rest()
	c.balanced()
}

// TestPlanSpreadsSmallSubTopologies: many with one task each do not all go to the same member.
func TestPlanSpreadsSmallSubTopologies(t *testing.T) {
	var refs []taskRef
	for i := range 8 {
		sub := &Sub{Name: fmt.Sprint("s", i)}
		refs = append(refs, taskRef{sub: sub, partitions: []wire.TopicPartition{{Topic: sub.Name}}})
	}
	c := newCrowd(t, refs, placing{})
	c.join("m0", "", nil)
	c.rest()
	c.join("m1", "", nil)
	c.rest()
	if a, b := len(c.members["m0"].runs), len(c.members["m1"].runs); a != 4 || b != 4 {
		t.Errorf("%d and %d of 8", a, b)
	}
}

// TestPlanDoesNotWaitForOldMembers: a member that knows nothing of copies would never be warm.
func TestPlanDoesNotWaitForOldMembers(t *testing.T) {
	refs := crowdTasks(2)[:2]
	var owned []wire.TopicPartition
	for _, r := range refs {
		owned = append(owned, r.partitions...)
	}
	old := wire.Member{ID: "old", UserData: memberData{Version: 1}.encode()}
	if got := plan(refs, []wire.Member{member("new", owned...), old}, placing{moveLag: 10}); len(got["old"].Partitions) != 2 {
		t.Errorf("got %v", got)
	}
}

// TestPlanPinsTasksWithoutPartitions: nobody would know when who has one has given it up.
func TestPlanPinsTasksWithoutPartitions(t *testing.T) {
	sub := &Sub{Name: "file"}
	refs := []taskRef{{sub: sub}, {sub: sub, partition: 1}}
	has := member("has")
	has.UserData = memberData{Version: memberVersion, Tasks: []string{"file/0", "file/1"}}.encode()
	got := plan(refs, []wire.Member{member("a"), has, member("z")}, placing{})
	if n := len(decodeMember(got["has"].UserData).Tasks); n != 2 {
		t.Errorf("%d of 2 tasks stay: %v", n, got)
	}
}

func FuzzPlanBearsAnyUserData(f *testing.F) {
	f.Add([]byte(`{"v":2,"state":{"joined/0":-5},"tasks":["x"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		refs := crowdTasks(3)
		got := plan(refs, []wire.Member{{ID: "odd", UserData: data}, member("x")}, placing{standbys: 1, moveLag: 10})
		n := 0
		for _, a := range got {
			n += len(a.Partitions)
		}
		if n != 3*2+4+5 {
			t.Errorf("%d partitions are given", n)
		}
	})
}
