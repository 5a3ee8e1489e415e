package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// maxMetadata is Kafka's default of offset.metadata.max.bytes.
const maxMetadata = 4096

// A group is a consumer group: its positions, and its members while it has some.
type group struct {
	name       string
	generation int32
	members    []*member // in the order in which they joined; the first one that is alive leads
	offsets    map[wire.TopicPartition]offset
	pending    map[wire.TopicPartition]int // transactions that would move it
	appended   int                         // how many commits have come, transactional ones included

	dirty   bool      // a round is needed
	running bool      // a round is being planned, without the lock
	version int       // changes with every change that a plan must know of
	silence time.Time // until when a round waits for members that are silent; zero when none does
}

// An offset remembers which commit it came with. Markers may arrive in another order than commits did, and an older commit
// never replaces a younger one.
type offset struct {
	wire.Committed
	commit int
}

// A member is one seat in a group.
type member struct {
	*membership
	group    *group
	id       string
	cfg      wire.GroupConfig
	userData []byte
	held     wire.Assignment
	revoking map[wire.TopicPartition]bool // to be released by it
	revokeBy time.Time
	since    time.Time // silent since; zero while it is alive
	left     bool      // gave its place up, but keeps the seat
}

func (b *broker) group(name string) *group {
	g := b.groups[name]
	if g == nil {
		g = &group{name: name, offsets: map[wire.TopicPartition]offset{}, pending: map[wire.TopicPartition]int{}}
		b.groups[name] = g
	}
	return g
}

// committer checks who commits and what, and finds the group.
func (b *broker) committer(who wire.Identity, at []wire.Position) (*group, error) {
	g := b.group(who.Group)
	for _, p := range at {
		if _, err := b.partition(p.TopicPartition); err != nil {
			return nil, fmt.Errorf("position of group %s: %w", who.Group, err)
		}
		if len(p.Metadata) > maxMetadata {
			return nil, fmt.Errorf("%w: group %s topic %s partition %d: %d bytes of offset metadata, at most %d",
				wire.ErrRefused, who.Group, p.Topic, p.Partition, len(p.Metadata), maxMetadata)
		}
	}
	return g, g.admit(who)
}

// admit lets the group's members of the current generation in, and anyone while it has none.
func (g *group) admit(who wire.Identity) error {
	if who.Member == "" && len(g.members) == 0 {
		return nil
	}
	for _, m := range g.members {
		if who.Instance != "" && m.cfg.Instance == who.Instance && m.id != who.Member {
			return fmt.Errorf("group %s instance %s: %w", g.name, who.Instance, wire.ErrFenced)
		}
		if m.id == who.Member && g.generation == who.Generation {
			return nil
		}
	}
	return fmt.Errorf("group %s is at generation %d, %q is of %d: %w", g.name, g.generation, who.Member, who.Generation, wire.ErrGeneration)
}

// append numbers a commit.
func (g *group) append() int { g.appended++; return g.appended }

func (g *group) commit(number int, at []wire.Position) {
	for _, p := range at {
		if g.offsets[p.TopicPartition].commit < number {
			g.offsets[p.TopicPartition] = offset{p.Committed, number}
		}
	}
}

// finish ends a transaction's positions.
func (g *group) finish(number int, at []wire.Position, commit bool) {
	for _, p := range at {
		if g.pending[p.TopicPartition]--; g.pending[p.TopicPartition] == 0 {
			delete(g.pending, p.TopicPartition)
		}
	}
	if commit {
		g.commit(number, at)
	}
}

// calm reports whether the group has had its round, and needs no other.
func (g *group) calm() bool { return g.generation > 0 && !g.dirty && !g.running }

// mark has the group rebalanced when the cluster is unlocked.
func (b *broker) mark(g *group) {
	g.version++
	g.dirty = true
	if !slices.Contains(b.dirty, g) {
		b.dirty = append(b.dirty, g)
	}
}

// markReleased is mark when no member that is alive has anything to release. Otherwise the last one of them begins the round, as at a broker: who
// gives something up joins when it has, and a round waits for all. A driver's join cannot wait, so this cluster holds that round at once.
func (b *broker) markReleased(g *group) {
	if !slices.ContainsFunc(g.members, func(m *member) bool { return m.since.IsZero() && len(m.revoking) > 0 }) {
		b.mark(g)
	}
}

// beat is a heartbeat of every member that is alive: it notices who has fallen silent, and who is back.
func (b *broker) beat() {
	for _, name := range slices.Sorted(maps.Keys(b.groups)) {
		g := b.groups[name]
		for _, m := range g.members {
			switch silent := m.silent(); {
			case silent && m.since.IsZero():
				m.since = b.now
				b.dueAt(b.now.Add(m.sessionTimeout()))
			case !silent && !m.since.IsZero():
				m.since = time.Time{}
				if g.dirty {
					b.mark(g)
				}
			}
		}
	}
}

func (m *member) silent() bool {
	return m.left || m.cn.dead || m.cn.frozen || m.cn.unsaid || m.deaf || m.ctx.Err() != nil
}

func (m *member) sessionTimeout() time.Duration {
	return cmp.Or(m.cfg.SessionTimeout, 45*time.Second)
}

func (m *member) rebalanceTimeout() time.Duration {
	return cmp.Or(m.cfg.RebalanceTimeout, time.Minute)
}

// expireGroup removes members whose session is over or who did not release in time, and finds the group's next moment.
func (b *broker) expireGroup(g *group) {
	for _, m := range slices.Clone(g.members) {
		if !m.since.IsZero() {
			if end := m.since.Add(m.sessionTimeout()); b.now.Before(end) {
				b.dueAt(end)
			} else {
				b.lose(m, fmt.Errorf("group %s: session of %s expired", g.name, m.id))
				continue
			}
		}
		if len(m.revoking) > 0 {
			if b.now.Before(m.revokeBy) {
				b.dueAt(m.revokeBy)
			} else {
				b.lose(m, fmt.Errorf("group %s: %s did not release what was revoked within %v", g.name, m.id, m.rebalanceTimeout()))
			}
		}
	}
	if !g.silence.IsZero() {
		if b.now.Before(g.silence) {
			b.dueAt(g.silence)
		} else {
			b.mark(g)
		}
	}
}

// remove takes a member out of its group.
func (b *broker) remove(m *member) {
	g := m.group
	g.members = slices.DeleteFunc(g.members, func(o *member) bool { return o == m })
	b.mark(g)
}

// lose takes a member's seat away. Its membership joins anew when it is alive.
func (b *broker) lose(m *member, why error) {
	b.remove(m)
	m.membership.lost(b, why)
}

// ForgetOffsets drops a group's positions, as Kafka does when they expire.
func (c *Cluster) ForgetOffsets(name string) {
	b := c.enter()
	defer c.leave()
	clear(b.group(name).offsets)
	b.wake()
}
