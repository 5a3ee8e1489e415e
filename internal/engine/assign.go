package engine

import (
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
	gives := make([]bool, len(p.members))
	for name, owner := range p.owner {
		if owner >= 0 && p.runs[name] != owner {
			gives[owner] = true
		}
	}
	for i, m := range p.members {
		d := memberData{Version: memberVersion, Mark: m.data.Mark, Gives: gives[i], Alive: alive, Where: where, Coming: slices.Sorted(maps.Keys(m.coming)), Follow: slices.Sorted(maps.Keys(m.follow))}
		var a wire.Assignment
		for _, t := range m.got {
			a.Partitions = append(a.Partitions, t.partitions...)
			if len(t.partitions) == 0 {
				d.Tasks = append(d.Tasks, t.name())
			}
			if held, owner := p.held[t.name()], p.owner[t.name()]; held >= 0 && held != i || owner >= 0 && owner != i {
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
