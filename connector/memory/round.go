package memory

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

var errMissedRound = errors.New("memory: did not join a round in time")

// rebalance runs rounds of a group until it needs none: every member joins with what it holds, the leader plans, everyone gets what
// no one else holds any more. Functions of members are called without the lock; when the group has changed meanwhile, the round
// starts again.
func (c *Cluster) rebalance(g *group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.running {
		return // whoever runs it sees that the group is dirty
	}
	g.running = true
	for g.dirty && c.b.ready(g) {
		g.dirty = false
		c.round(g)
	}
	g.running = false
}

// ready reports whether a round can be held now. It waits for members that are silent, until they are back, expire, or have
// had their time; a static member keeps its seat then.
func (b *broker) ready(g *group) bool {
	b.beat()
	limit, silent := time.Duration(0), false
	for _, m := range g.members {
		limit = max(limit, m.rebalanceTimeout())
		silent = silent || !m.since.IsZero()
	}
	if !silent {
		g.silence = time.Time{}
		return true
	}
	if g.silence.IsZero() {
		g.silence = b.now.Add(limit)
	}
	if b.now.Before(g.silence) {
		b.dueAt(g.silence)
		return false
	}
	g.silence = time.Time{}
	for _, m := range slices.Clone(g.members) {
		if !m.since.IsZero() && m.cfg.Instance == "" {
			b.lose(m, errMissedRound)
		}
	}
	return true
}

func (c *Cluster) round(g *group) {
	members, version := slices.Clone(g.members), g.version
	alive := slices.IndexFunc(members, func(m *member) bool { return m.since.IsZero() })
	if alive < 0 {
		return
	}
	leader := members[alive]
	data := make([][]byte, len(members))
	ask := make([]func() []byte, len(members)) // a silent member's data is what it was
	for i, m := range members {
		data[i] = m.userData
		if m.since.IsZero() {
			ask[i] = m.cfg.UserData
		}
	}
	c.mu.Unlock()
	for i := range ask {
		if ask[i] != nil {
			data[i] = ask[i]()
		}
	}
	c.mu.Lock()
	var plan map[string]wire.Assignment
	if g.version == version {
		seats := describe(members, data)
		c.mu.Unlock()
		plan = leader.cfg.Plan(seats)
		c.mu.Lock()
	}
	if g.version != version {
		g.dirty = true
		return
	}
	c.b.assign(g, leader, plan)
	c.b.wake()
}

// describe is the group as the leader sees it.
func describe(members []*member, data [][]byte) []wire.Member {
	seats := make([]wire.Member, len(members))
	for i, m := range members {
		m.userData = data[i]
		owned := slices.AppendSeq(slices.Clone(m.held.Partitions), maps.Keys(m.revoking))
		seats[i] = wire.Member{ID: m.id, Instance: m.cfg.Instance, Topics: m.cfg.Topics, Owned: sorted(owned), UserData: data[i]}
	}
	return seats
}

// assign begins a generation. What another member holds is withheld until it is released, also from a member that is about to
// release it itself.
func (b *broker) assign(g *group, leader *member, plan map[string]wire.Assignment) {
	g.generation++
	owner := map[wire.TopicPartition]*member{}
	for _, m := range g.members {
		for _, p := range m.held.Partitions {
			owner[p] = m
		}
	}
	for _, m := range g.members {
		for p := range m.revoking {
			owner[p] = nil // present and nil: nobody's
		}
	}
	for _, m := range g.members {
		want := plan[m.id]
		var got []wire.TopicPartition
		for _, p := range want.Partitions {
			if who, held := owner[p]; !held || who == m {
				owner[p] = m
				if !slices.Contains(got, p) {
					got = append(got, p)
				}
			}
		}
		b.give(m, m == leader, wire.Assignment{Partitions: sorted(got), UserData: want.UserData})
	}
}

// give tells a member what it holds now, and first what it has to give up.
func (b *broker) give(m *member, leads bool, a wire.Assignment) {
	revoked := without(m.held.Partitions, a.Partitions)
	added := without(a.Partitions, m.held.Partitions)
	m.held = a
	if len(revoked) > 0 {
		for _, p := range revoked {
			m.revoking[p] = true
		}
		m.revokeBy = b.now.Add(m.rebalanceTimeout())
		b.dueAt(m.revokeBy)
		m.push(wire.GroupEvent{Revoked: revoked})
	}
	m.push(wire.GroupEvent{Assigned: &wire.Assigned{
		Member: m.id, Generation: m.group.generation, Leader: leads, Added: added,
		Assignment: wire.Assignment{Partitions: slices.Clone(a.Partitions), UserData: a.UserData},
	}})
}

// without are the elements of a that are not in b.
func without(a, b []wire.TopicPartition) []wire.TopicPartition {
	var rest []wire.TopicPartition
	for _, p := range a {
		if !slices.Contains(b, p) {
			rest = append(rest, p)
		}
	}
	return rest
}

func sorted(parts []wire.TopicPartition) []wire.TopicPartition {
	slices.SortFunc(parts, func(a, b wire.TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return parts
}
