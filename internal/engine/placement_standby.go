package engine

import (
	"cmp"
	"slices"
)

// copy gives copies of the state of one sub-topology's tasks to members that do not run them.
func (p *planner) copy(tasks []taskRef) {
	if !tasks[0].logged() || p.standbys == 0 {
		return
	}
	runs := map[*planned]int{}
	for _, m := range p.members {
		m.copies, m.copiesOf = 0, map[*planned]int{}
	}
	for _, t := range tasks {
		runs[p.members[p.runs[t.name()]]]++
	}
	others := max(1, len(p.members)-1)
	share := (p.standbys*len(tasks) + len(p.members) - 1) / len(p.members)
	for _, t := range tasks {
		of := runs[p.members[p.runs[t.name()]]]
		p.copyTask(t, share, (p.standbys*of+others-1)/others)
	}
}

// copyTask picks the standbys of one task. Who follows it because it will have it is one of them.
// Nobody should get more than its share of all copies, nor of those of one member's tasks: when that one is gone, all others help.
func (p *planner) copyTask(t taskRef, share, shareOf int) {
	name := t.name()
	runs := p.members[p.runs[name]]
	racks := map[string]bool{runs.data.Rack: true}
	var free []*planned
	chosen := 0
	allWarm := true
	choose := func(m *planned) {
		m.follow[name] = true
		m.copies++
		m.copiesOf[runs]++
		chosen++
		racks[m.data.Rack] = true
		allWarm = allWarm && p.warm(m, t)
	}
	for i, m := range p.members {
		switch {
		case m == runs || i == p.held[name]:
		case m.follow[name]:
			choose(m)
		case m.data.Version >= stateVersion:
			free = append(free, m)
		}
	}
	for chosen < p.standbys && len(free) > 0 {
		best := slices.MinFunc(free, func(a, b *planned) int {
			return cmp.Or(
				compareBool(a.data.Rack != "" && racks[a.data.Rack], b.data.Rack != "" && racks[b.data.Rack]),
				compareBool(a.copies >= share, b.copies >= share),
				compareBool(a.copiesOf[runs] >= shareOf, b.copiesOf[runs] >= shareOf),
				compareBool(!p.warm(a, t), !p.warm(b, t)),
				cmp.Compare(a.lag(t), b.lag(t)),
				cmp.Compare(a.copies, b.copies),
				cmp.Compare(a.count, b.count),
			)
		})
		free = slices.DeleteFunc(free, func(m *planned) bool { return m == best })
		choose(best)
	}
	if !allWarm { // the copy that there is stays until the new one is as good
		for _, m := range free {
			if p.warm(m, t) {
				m.follow[name] = true
				return
			}
		}
	}
}
