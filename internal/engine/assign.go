package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// A taskRef is a task as an assignment sees it: the partitions that it cannot be without.
type taskRef struct {
	sub        *Sub
	partition  int
	partitions []wire.TopicPartition
}

func (t taskRef) name() string { return fmt.Sprintf("%s/%d", t.sub.Name, t.partition) }

// memberData is what a member tells the leader, and the leader every member. A member of another version skips what it does not know.
type memberData struct {
	Version  int      `json:"v"`
	Instance string   `json:"instance,omitempty"` // the middle of its transactional ids
	Tasks    []string `json:"tasks,omitempty"`    // told: with state on disk; answered: without a partition to hold them by
	Alive    []string `json:"alive,omitempty"`    // answered: the instances of all members
	// Advertise is told: where the member's queries are reached. Where is answered: the tasks at each of these addresses.
	Advertise string              `json:"advertise,omitempty"`
	Where     map[string][]string `json:"where,omitempty"`
	Problem   string              `json:"problem,omitempty"`
}

func (d memberData) encode() []byte {
	b, _ := json.Marshal(d) // strings and integers: it never fails
	return b
}

func decodeMember(b []byte) (d memberData) {
	if err := json.Unmarshal(b, &d); err != nil {
		d = memberData{Problem: fmt.Sprintf("user data of another form: %v", err)}
	}
	return d
}

// plan gives tasks to members: each stays where it is as long as its sub-topology is balanced, goes where its state is otherwise, and
// to who has the least at last. together keeps all with one member, as the local exchange needs. It never fails.
func plan(tasks []taskRef, members []wire.Member, together bool) map[string]wire.Assignment {
	p := &planner{data: map[string]memberData{}, got: map[string][]taskRef{}, count: map[string]int{}}
	for _, m := range members {
		p.data[m.ID] = decodeMember(m.UserData)
		p.alive = append(p.alive, p.data[m.ID].Instance)
	}
	slices.Sort(p.alive)
	p.members = slices.Clone(members)
	slices.SortFunc(p.members, func(a, b wire.Member) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.ID, b.ID))
	})
	if together {
		p.giveAll(tasks)
	} else {
		for start := 0; start < len(tasks); {
			end := start
			for end < len(tasks) && tasks[end].sub == tasks[start].sub {
				end++
			}
			p.give(tasks[start:end])
			start = end
		}
	}
	return p.answer()
}

// A planner holds a plan while it is made.
type planner struct {
	members []wire.Member
	data    map[string]memberData
	alive   []string
	got     map[string][]taskRef
	count   map[string]int // of all tasks a member got
}

// holds reports whether the member had the task when it joined.
func (p *planner) holds(m wire.Member, t taskRef) bool {
	if len(t.partitions) == 0 {
		return slices.Contains(p.data[m.ID].Tasks, t.name())
	}
	return slices.Contains(m.Owned, t.partitions[0])
}

// give spreads the tasks of one sub-topology. Nobody gets more than its share, rounded up.
func (p *planner) give(tasks []taskRef) {
	share := (len(tasks) + len(p.members) - 1) / max(1, len(p.members))
	here := map[string]int{}
	take := func(m wire.Member, t taskRef) {
		p.got[m.ID] = append(p.got[m.ID], t)
		p.count[m.ID]++
		here[m.ID]++
	}
	var open []taskRef
next:
	for _, t := range tasks {
		for _, m := range p.members {
			if p.holds(m, t) && here[m.ID] < share {
				take(m, t)
				continue next
			}
		}
		open = append(open, t)
	}
	for _, t := range open {
		best := -1
		for i, m := range p.members {
			if here[m.ID] >= share {
				continue
			}
			if best < 0 || p.better(m, p.members[best], t, here) {
				best = i
			}
		}
		if best >= 0 {
			take(p.members[best], t)
		}
	}
}

// better reports whether a should have the task rather than b: it has its state, or less to do.
func (p *planner) better(a, b wire.Member, t taskRef, here map[string]int) bool {
	warmA, warmB := slices.Contains(p.data[a.ID].Tasks, t.name()), slices.Contains(p.data[b.ID].Tasks, t.name())
	if warmA != warmB {
		return warmA
	}
	if here[a.ID] != here[b.ID] {
		return here[a.ID] < here[b.ID]
	}
	return p.count[a.ID] < p.count[b.ID]
}

// giveAll gives everything to who has most of it, else the first.
func (p *planner) giveAll(tasks []taskRef) {
	best, most := 0, -1
	for i, m := range p.members {
		n := len(m.Owned)*1000 + len(p.data[m.ID].Tasks)
		if n > most {
			best, most = i, n
		}
	}
	if len(p.members) > 0 {
		p.got[p.members[best].ID] = tasks
	}
}

// answer turns tasks into partitions. Members of other versions learn of each other's instances all the same.
func (p *planner) answer() map[string]wire.Assignment {
	out := map[string]wire.Assignment{}
	where := map[string][]string{}
	for _, m := range p.members {
		if at := p.data[m.ID].Advertise; at != "" {
			for _, t := range p.got[m.ID] {
				where[at] = append(where[at], t.name())
			}
		}
	}
	for _, m := range p.members {
		d := memberData{Version: 1, Alive: p.alive, Where: where}
		var a wire.Assignment
		for _, t := range p.got[m.ID] {
			a.Partitions = append(a.Partitions, t.partitions...)
			if len(t.partitions) == 0 {
				d.Tasks = append(d.Tasks, t.name())
			}
		}
		a.UserData = d.encode()
		out[m.ID] = a
	}
	return out
}

// ownedBy lists the tasks that an assignment gives: those of which every partition is there.
func ownedBy(tasks []taskRef, a *wire.Assigned) []taskRef {
	held := map[wire.TopicPartition]bool{}
	for _, p := range a.Partitions {
		held[p] = true
	}
	told := decodeMember(a.UserData).Tasks
	return slices.DeleteFunc(slices.Clone(tasks), func(t taskRef) bool {
		if len(t.partitions) == 0 {
			return !slices.Contains(told, t.name())
		}
		return slices.ContainsFunc(t.partitions, func(p wire.TopicPartition) bool { return !held[p] })
	})
}
