package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// A placing is what the leader's configuration says of a plan.
type placing struct {
	together bool  // all tasks with one member, as the local exchange needs
	standbys int   // copies of a task's state beside its own
	moveLag  int64 // records that a copy may lack for its task to move to it
}

// plan gives tasks to members. docs/adr/0050 has the reasons; in short:
//
//  1. Each sub-topology is shared out evenly, and each task stays where it is as far as that allows. What has nobody, or one who has too
//     many, goes where most of its state is.
//  2. A task that somebody runs moves only to a member whose copy of its state is nearly complete. Until it is, the member follows the
//     task's changelogs, and asks for a round when it is done.
//  3. Standbys go to other members, in other racks where it can be, evenly.
//
// It is pure and never fails: what it cannot read of a member it does without.
func plan(tasks []taskRef, members []wire.Member, how placing) map[string]wire.Assignment {
	p := newPlanner(tasks, members, how)
	if len(p.members) == 0 {
		return nil
	}
	for _, sub := range bySub(tasks) {
		switch {
		case how.together:
			p.placeAll(sub)
		default:
			p.place(sub)
		}
	}
	for _, sub := range bySub(tasks) {
		p.copy(sub)
	}
	return p.answer()
}

// bySub cuts tasks, which are in the order of their sub-topologies.
func bySub(tasks []taskRef) (out [][]taskRef) {
	for start := 0; start < len(tasks); {
		end := start
		for end < len(tasks) && tasks[end].sub == tasks[start].sub {
			end++
		}
		out = append(out, tasks[start:end])
		start = end
	}
	return out
}

// A planner holds a plan while it is made.
type planner struct {
	placing
	members []*planned
	extras  int            // how many sub-topologies may give a member one task more than the least
	runs    map[string]int // who is given a task
	owner   map[string]int // whose partitions a task's are now; -1 nobody's
	held    map[string]int // who runs it now, or is the next to; -1 nobody
}

// A planned is a member while a plan is made.
type planned struct {
	wire.Member
	data     memberData
	owned    map[wire.TopicPartition]bool
	tasks    map[string]bool // those without partitions that it runs
	next     map[string]bool // tasks that it was to get
	got      []taskRef
	count    int // of tasks that are to be its, when all have moved
	extra    int // how often it got one more than the least
	copies   int // of state, of one sub-topology; and by who runs the task
	copiesOf map[*planned]int
	follow   map[string]bool
	coming   map[string]bool
}

func newPlanner(tasks []taskRef, members []wire.Member, how placing) *planner {
	p := &planner{placing: how, runs: map[string]int{}, owner: map[string]int{}, held: map[string]int{}}
	for _, m := range members {
		d := &planned{Member: m, data: decodeMember(m.UserData), owned: map[wire.TopicPartition]bool{}, tasks: map[string]bool{}, next: map[string]bool{},
			follow: map[string]bool{}, coming: map[string]bool{}}
		for _, at := range m.Owned {
			d.owned[at] = true
		}
		for _, name := range d.data.Tasks {
			d.tasks[name] = true
		}
		for _, name := range d.data.Next {
			d.next[name] = true
		}
		p.members = append(p.members, d)
	}
	slices.SortFunc(p.members, func(a, b *planned) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.ID, b.ID))
	})
	n, more := max(1, len(p.members)), 0
	for _, sub := range bySub(tasks) {
		more += len(sub) % n
	}
	p.extras = (more + n - 1) / n
	for _, t := range tasks {
		held := slices.IndexFunc(p.members, func(m *planned) bool { return m.holds(t) })
		p.owner[t.name()] = held
		if held >= 0 && p.vacant(p.members[held], t) {
			held = -1
		}
		if held < 0 {
			held = slices.IndexFunc(p.members, func(m *planned) bool { return m.next[t.name()] })
		}
		p.held[t.name()] = held
	}
	return p
}

// holds reports whether the member had the task when it joined.
func (m *planned) holds(t taskRef) bool {
	if len(t.partitions) == 0 {
		return m.tasks[t.name()]
	}
	return m.owned[t.partitions[0]]
}

// cold is the lag of who has nothing of a task's state.
const cold = math.MaxInt64

// lag is how much of a task's state a member lacks.
func (m *planned) lag(t taskRef) int64 {
	if n, ok := m.data.State[t.name()]; ok {
		return n
	}
	return cold
}

// warm reports whether a member has nearly all of a task's state.
func (p *planner) warm(m *planned, t taskRef) bool { return m.lag(t) <= p.moveLag }

// vacant reports whether a member has come back without the state of a task that it still holds, while another one has it.
func (p *planner) vacant(m *planned, t taskRef) bool {
	return m.data.Vacant && t.logged() && !p.warm(m, t) && slices.ContainsFunc(p.members, func(o *planned) bool { return p.warm(o, t) })
}

// take gives a task to a member now.
func (p *planner) take(i int, t taskRef) {
	p.runs[t.name()] = i
	p.members[i].got = append(p.members[i].got, t)
}

// place gives the tasks of one sub-topology to members: now to whom they go in the end, or until that one is warm to another.
func (p *planner) place(tasks []taskRef) {
	for i, to := range p.share(tasks) {
		t, m := tasks[i], p.members[to]
		now := to
		switch held := p.held[t.name()]; {
		case held == to || !t.logged() || m.data.Version < stateVersion || p.warm(m, t):
			if held >= 0 && held != to && t.logged() {
				m.follow[t.name()] = true // until who has it has given it up
			}
		case held >= 0:
			now = held
		default:
			if warm := p.warmest(t); warm >= 0 {
				now = warm
			}
		}
		if now != to {
			m.follow[t.name()], m.coming[t.name()] = true, true
		}
		p.take(now, t)
	}
}

// warmest is the member that has nearly all of a task's state and the least to do; -1 when nobody has.
func (p *planner) warmest(t taskRef) int {
	best := -1
	for i, m := range p.members {
		if p.warm(m, t) && (best < 0 || m.count < p.members[best].count) {
			best = i
		}
	}
	return best
}

// share says who is to have each task of a sub-topology in the end.
func (p *planner) share(tasks []taskRef) []int {
	room := p.quotas(tasks)
	to := make([]int, len(tasks))
	mine := make([][]int, len(p.members)) // tasks by who has them now
	for i, t := range tasks {
		to[i] = -1
		if held := p.held[t.name()]; held >= 0 {
			mine[held] = append(mine[held], i)
		}
	}
	give := func(i, m int) {
		to[i] = m
		room[m]--
		p.members[m].count++
	}
	needs := make([]bool, len(p.members)) // who is to get more than it has
	for m := range needs {
		needs[m] = room[m] > len(mine[m])
	}
	lacks := make([]int64, len(tasks))
	for i, t := range tasks {
		lacks[i] = p.least(t, needs)
	}
	for m, have := range mine {
		// What cannot be given up comes first, then what nobody who needs more has state of.
		slices.SortStableFunc(have, func(a, b int) int {
			pinned := func(i int) int { return min(1, len(tasks[i].partitions)) }
			return cmp.Or(cmp.Compare(pinned(a), pinned(b)), cmp.Compare(lacks[b], lacks[a]))
		})
		for _, i := range have {
			// Nobody would know when a task without partitions has been given up: it stays while its member lives.
			if room[m] > 0 || len(tasks[i].partitions) == 0 {
				give(i, m)
			}
		}
	}
	for _, i := range p.choosy(tasks, to) {
		give(i, p.best(tasks[i], room))
	}
	return to
}

// least is what the best of some members lacks of a task's state.
func (p *planner) least(t taskRef, of []bool) int64 {
	least := int64(cold)
	for i, m := range p.members {
		if of[i] {
			least = min(least, p.lack(m, t))
		}
	}
	return least
}

// lack is a member's lag, to compare with others': a little more or less makes no difference.
func (p *planner) lack(m *planned, t taskRef) int64 {
	if p.warm(m, t) {
		return 0
	}
	return m.lag(t)
}

// choosy lists the tasks that have nobody yet, first those that fewest members are warm for: the others have a choice.
func (p *planner) choosy(tasks []taskRef, to []int) (open []int) {
	warm := make([]int, len(tasks))
	for i, t := range tasks {
		if to[i] >= 0 {
			continue
		}
		open = append(open, i)
		for _, m := range p.members {
			if p.warm(m, t) {
				warm[i]++
			}
		}
		if warm[i] == 0 {
			warm[i] = math.MaxInt
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(warm[a], warm[b]) })
	return open
}

// best is who should have a task of those with room: who has its state, or least to do.
func (p *planner) best(t taskRef, room []int) int {
	best := -1
	for i := range p.members {
		if best < 0 || p.better(t, i, best, room) {
			best = i
		}
	}
	return best
}

func (p *planner) better(t taskRef, a, b int, room []int) bool {
	x, y := p.members[a], p.members[b]
	return cmp.Or(
		cmp.Compare(min(1, max(0, room[b])), min(1, max(0, room[a]))),
		cmp.Compare(p.lack(x, t), p.lack(y, t)),
		cmp.Compare(room[b], room[a]),
		cmp.Compare(x.count, y.count),
	) < 0
}

// quotas are how many tasks of a sub-topology each member gets: all the same, and some of them one more. Those are who has that many
// already, and then who has got fewest in all; nobody has one more much oftener than others.
func (p *planner) quotas(tasks []taskRef) []int {
	n := len(p.members)
	least, more := len(tasks)/n, len(tasks)%n
	has := make([]int, n)
	for _, t := range tasks {
		if held := p.held[t.name()]; held >= 0 {
			has[held]++
		}
		for i, m := range p.members {
			if p.held[t.name()] < 0 && p.warm(m, t) {
				has[i]++
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := p.members[a], p.members[b]
		return cmp.Or(
			compareBool(x.extra >= p.extras, y.extra >= p.extras),
			compareBool(has[a] <= least, has[b] <= least),
			cmp.Compare(x.count, y.count),
		)
	})
	room := make([]int, n)
	for rank, i := range order {
		room[i] = least
		if rank < more {
			room[i]++
			p.members[i].extra++
		}
	}
	return room
}

// compareBool puts false first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// placeAll gives everything to who has most of it, else whose state lacks least, else the first.
func (p *planner) placeAll(tasks []taskRef) {
	best := 0
	better := func(a, b *planned) bool {
		return cmp.Or(
			cmp.Compare(len(b.owned)+len(b.tasks), len(a.owned)+len(a.tasks)),
			cmp.Compare(len(b.data.State), len(a.data.State)),
		) < 0
	}
	for i, m := range p.members {
		if better(m, p.members[best]) {
			best = i
		}
	}
	for _, t := range tasks {
		p.take(best, t)
	}
}
