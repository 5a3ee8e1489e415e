package memory

import (
	"maps"
	"slices"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// off is a membership whose connection is parted from the cluster. Its client goes on from what it knew, and everything else waits until it
// can be heard and hears again.
type off struct {
	who      wire.Identity
	events   []wire.GroupEvent
	released []wire.TopicPartition
	rejoins  bool
}

// part parts a connection from the cluster, or ends that, as the fate of its request says.
func (cn *conn) part(b *broker, f faults.Fate) {
	b.beat()
	was := cn.parted
	cn.parted, cn.unsaid = f.Parted, f.Parted && f.Drop
	for _, m := range cn.joined {
		switch {
		case cn.parted && !was:
			m.off = &off{who: m.identity()}
		case was && !cn.parted:
			m.heal(b)
		}
	}
	b.beat()
	b.wake()
}

// heal does what waited. A member that lost its seat meanwhile hears of nothing else.
func (m *membership) heal(b *broker) {
	before := m.off
	if m.off = nil; before == nil {
		return
	}
	if m.gone != nil {
		m.rejoin(b)
		return
	}
	for _, e := range before.events {
		m.push(e)
	}
	m.release(b, before.released)
	if before.rejoins && m.seat != nil && !m.done {
		b.mark(m.seat.group)
	}
}

// mend ends everything that parts members from the cluster.
func (b *broker) mend() {
	for _, name := range slices.Sorted(maps.Keys(b.groups)) {
		for _, m := range slices.Clone(b.groups[name].members) {
			if m.cn.parted {
				m.cn.part(b, faults.Fate{})
			}
		}
	}
}
