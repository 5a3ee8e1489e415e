package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/weirstream/weir/internal/wire"
)

// A taskRef is a task as an assignment sees it: the partitions that it cannot be without.
type taskRef struct {
	sub        *Sub
	partition  int
	partitions []wire.TopicPartition
	id         string // its name, when somebody made it beforehand
}

func (t taskRef) name() string {
	if t.id != "" {
		return t.id
	}
	return t.sub.Name + "/" + strconv.Itoa(t.partition)
}

// logged reports whether the task has state that another process can restore.
func (t taskRef) logged() bool {
	return slices.ContainsFunc(t.sub.Stores, func(st Store) bool { return st.Changelog })
}

// memberVersion is that of what members tell: 2 has state and standbys. A leader does not wait for a member of an older version to warm
// up, which it would never do.
const memberVersion = 2

// memberData is what a member tells the leader, and the leader every member. A member of another version skips what it does not know.
type memberData struct {
	Version  int    `json:"v"`
	Instance string `json:"instance,omitempty"` // the middle of its transactional ids
	Rack     string `json:"rack,omitempty"`
	// Tasks without a partition to hold them by: told, those that run here; answered, those that are to.
	Tasks []string `json:"tasks,omitempty"`
	// State is told: the tasks whose state is here, and how many records of their changelogs it lacks.
	State map[string]int64 `json:"state,omitempty"`
	// Follow is answered: the tasks of which a copy of the state is to be kept. Coming are those of them that move here as soon as it
	// lacks little: the member asks for a round then.
	Follow []string `json:"follow,omitempty"`
	Coming []string `json:"coming,omitempty"`
	// Next is answered and told again: the tasks that the member gets when who has them has given them up. Otherwise the round in which nobody
	// has them might decide anew.
	Next  []string `json:"next,omitempty"`
	Alive []string `json:"alive,omitempty"` // answered: the instances of all members
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

// answer turns tasks into partitions. Members of other versions learn of each other's instances all the same.
func (p *planner) answer() map[string]wire.Assignment {
	out := map[string]wire.Assignment{}
	where := map[string][]string{}
	var alive []string
	for _, m := range p.members {
		alive = append(alive, m.data.Instance)
		if at := m.data.Advertise; at != "" {
			for _, t := range m.got {
				where[at] = append(where[at], t.name())
			}
		}
	}
	slices.Sort(alive)
	for _, m := range p.members {
		d := memberData{Version: memberVersion, Alive: alive, Where: where, Coming: slices.Sorted(maps.Keys(m.coming)), Follow: slices.Sorted(maps.Keys(m.follow))}
		var a wire.Assignment
		for _, t := range m.got {
			a.Partitions = append(a.Partitions, t.partitions...)
			if len(t.partitions) == 0 {
				d.Tasks = append(d.Tasks, t.name())
			}
			if held := p.held[t.name()]; held >= 0 && p.members[held] != m {
				d.Next = append(d.Next, t.name())
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
