package memory

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// A membership is the client's side of a seat. It outlives the member when that is lost.
type membership struct {
	c      *Cluster
	cn     *conn
	ctx    context.Context
	cfg    wire.GroupConfig
	events chan wire.GroupEvent
	stop   func() bool // ends watching ctx

	// Guarded by c.mu.
	seat *member
	gone error         // a seat was lost while the process was silent: it learns of it when it is back
	deaf bool          // does not read its events
	was  wire.Identity // what a suspended process goes on from
	off  *off          // what is on its way while the connection is parted; nil while it is not
	done bool
	err  error
}

// eventRoom is how many events may wait before a member counts as one that does not live.
const eventRoom = 64

// Join becomes a member. The functions of cfg, of this member or of the group's leader, are called by the goroutine whose call makes
// a round necessary, without locks of the cluster: what they call must not wait for that goroutine.
func (cn *conn) Join(ctx context.Context, cfg wire.GroupConfig) (wire.Membership, error) {
	m := &membership{c: cn.c, cn: cn, ctx: ctx, cfg: cfg, events: make(chan wire.GroupEvent, eventRoom)}
	err := cn.call(ctx, faults.Request{Kind: faults.JoinGroup, ID: cfg.Group}, func(b *broker) error {
		if m.seat == nil {
			if cn.parted { // the answer is lost
				m.off = &off{who: wire.Identity{Group: cfg.Group, Instance: cfg.Instance, Generation: -1}}
			}
			cn.joined = append(cn.joined, m)
			b.seat(m)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.stop = context.AfterFunc(ctx, m.expired)
	return m, nil
}

// expired lets the seat fall silent when ctx has ended, and closes the events.
func (m *membership) expired() {
	b := m.c.enter()
	defer m.c.leave()
	b.beat()
	m.end(m.ctx.Err())
}

// seat gives a membership a new member. A static member takes the place of the one before it, and gets its assignment as it is: a group that
// is calm holds no round for it, and nobody but the one before it knows what that was about to release.
func (b *broker) seat(m *membership) {
	g := b.group(m.cfg.Group)
	b.lastMember++
	s := &member{membership: m, group: g, cfg: m.cfg, revoking: map[wire.TopicPartition]bool{}}
	s.id = fmt.Sprintf("member-%d", b.lastMember)
	m.seat = s
	for i, old := range g.members {
		if m.cfg.Instance != "" && old.cfg.Instance == m.cfg.Instance {
			old.membership.end(fmt.Errorf("group %s instance %s: %w", g.name, m.cfg.Instance, wire.ErrFenced))
			g.members[i] = s
			if !g.calm() {
				b.mark(g)
				return
			}
			s.userData = old.userData
			b.give(s, false, old.held)
			return
		}
	}
	g.members = append(g.members, s)
	b.mark(g)
}

// push hands an event over. A member that does not read its events falls silent.
func (m *membership) push(e wire.GroupEvent) {
	switch {
	case m.done:
		return
	case m.off != nil:
		m.off.events = append(m.off.events, e)
		return
	}
	select {
	case m.events <- e:
	default:
		m.deaf = true
	}
}

// end closes the events.
func (m *membership) end(err error) {
	if !m.done {
		m.done, m.err = true, err
		close(m.events)
	}
}

// lost tells the process that its seat is gone, now or when it is back.
func (m *membership) lost(b *broker, why error) {
	m.seat = nil
	m.gone = why
	m.rejoin(b)
}

// rejoin takes a new seat after one was lost, if the process lives.
func (m *membership) rejoin(b *broker) {
	if m.gone == nil || m.done || m.cn.dead || m.cn.frozen || m.off != nil || m.ctx.Err() != nil {
		return
	}
	m.push(wire.GroupEvent{Lost: m.gone})
	m.gone = nil
	b.seat(m)
}

// Events is described at wire.Membership.
func (m *membership) Events() <-chan wire.GroupEvent { return m.events }

// Release is described at wire.Membership.
func (m *membership) Release(parts []wire.TopicPartition) {
	b := m.c.enter()
	defer m.c.leave()
	if m.off != nil {
		m.off.released = append(m.off.released, parts...)
		return
	}
	m.release(b, parts)
}

func (m *membership) release(b *broker, parts []wire.TopicPartition) {
	if m.seat == nil || len(m.seat.revoking) == 0 {
		return
	}
	for _, p := range parts {
		delete(m.seat.revoking, p)
	}
	if len(m.seat.revoking) == 0 {
		b.markReleased(m.seat.group)
	}
}

// Identity is described at wire.Membership.
func (m *membership) Identity() wire.Identity {
	m.c.enter()
	defer m.c.leave()
	return m.identity()
}

func (m *membership) identity() wire.Identity {
	switch {
	case m.off != nil:
		return m.off.who
	case m.cn.frozen:
		return m.was
	}
	who := wire.Identity{Group: m.cfg.Group, Instance: m.cfg.Instance, Generation: -1}
	if m.seat != nil {
		who.Member, who.Generation = m.seat.id, m.seat.group.generation
	}
	return who
}

// Rejoin is described at wire.Membership.
func (m *membership) Rejoin() {
	b := m.c.enter()
	defer m.c.leave()
	switch {
	case m.off != nil:
		m.off.rejoins = true
	case m.seat != nil && !m.done && !m.cn.dead:
		b.markReleased(m.seat.group)
	}
}

// Leave is described at wire.Membership.
func (m *membership) Leave(_ context.Context, stay bool) error {
	m.stop()
	b := m.c.enter()
	defer m.c.leave()
	m.end(nil)
	if m.cn.dead {
		return faults.ErrKilled
	}
	switch {
	case m.seat == nil:
	case m.cn.unsaid: // the group will notice its silence
		m.deaf = true
		b.beat()
		return faults.ErrLost
	case stay:
		m.seat.left = true
		b.beat()
	default:
		b.remove(m.seat)
		m.seat = nil
	}
	return nil
}

// Err is described at wire.Membership.
func (m *membership) Err() error {
	m.c.enter()
	defer m.c.leave()
	return m.err
}
