package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// A handler is what sarama runs for one session.
type handler struct {
	m     *membership
	cause error // why the session ended
}

// Setup, Cleanup and ConsumeClaim are sarama's.
func (h *handler) Setup(s sarama.ConsumerGroupSession) error {
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.session = s
	if m.mu.first != nil {
		m.mu.first.Member = s.MemberID()
		m.pushLocked(wire.GroupEvent{Assigned: m.mu.first})
		m.mu.first = nil
	}
	return nil
}

func (h *handler) Cleanup(s sarama.ConsumerGroupSession) error {
	if cause := context.Cause(s.Context()); !errors.Is(cause, context.Canceled) {
		h.cause = cause
	}
	return nil
}

// ConsumeClaim keeps a partition until it is released. It must not return before, and reads nothing.
func (h *handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	m := h.m
	m.group.Pause(map[string][]int32{c.Topic(): {c.Partition()}})
	m.mu.Lock()
	held := m.mu.claims[wire.TopicPartition{Topic: c.Topic(), Partition: c.Partition()}]
	m.mu.Unlock()
	for range c.Messages() { // what came before the pause
	}
	if held == nil {
		return nil // released before this began
	}
	select {
	case <-held.released:
	case <-s.Context().Done():
	case <-m.ctx.Done():
	}
	return nil
}

// Rejoin is described at wire.Membership.
func (m *membership) Rejoin() { signal(m.rejoin) }

// nudge asks the coordinator for rounds. sarama joins only when a heartbeat tells it that a round is under way, and a join in this
// member's own name would end sarama's session with the generation. So a ghost joins, a member of no consequence, which begins a
// round for everyone; it is out again before this member's join is sent.
func (m *membership) nudge() {
	wait := newBackoff()
	for {
		select {
		case <-m.rejoin:
		case <-m.ctx.Done():
			return
		}
		if err := m.askForRound(); err != nil && m.ctx.Err() == nil {
			m.log.dialer.log.Info("kafka: asking for a new round failed, trying again", "group", m.config.Group, "error", err)
			wait.sleep(m.ctx, time.Time{})
			signal(m.rejoin)
			continue
		}
	}
}

// askForRound returns when this member joins a round, whoever began it.
func (m *membership) askForRound() error {
	ctx, cancel := context.WithTimeout(m.ctx, requestTimeout)
	defer cancel()
	m.mu.Lock()
	m.mu.asked = cancel
	seated := m.mu.session != nil
	m.mu.Unlock()
	if !seated {
		return nil // the join that is coming says what there is to say
	}
	ghost := sarama.NewJoinGroupRequest(m.log.settings.Version)
	ghost.GroupId, ghost.ProtocolType = m.config.Group, "consumer"
	ghost.SessionTimeout, ghost.RebalanceTimeout = int32(ghostSession.Milliseconds()), int32(ghostSession.Milliseconds())
	meta := &sarama.ConsumerGroupMemberMetadata{Version: 2, Topics: m.config.Topics, UserData: []byte{envelopeGhost}, GenerationID: -1}
	if err := ghost.AddGroupProtocolMetadata(strategyName, meta); err != nil {
		return err
	}
	join := func(b *sarama.Broker) error {
		answer, err := b.JoinGroup(ghost)
		if err != nil {
			return err
		}
		ghost.MemberId = answer.MemberId
		return orNil(answer.Err)
	}
	err := m.log.atGroup(ctx, m.config.Group, join) // the first answer is a member id
	if code(err) == sarama.ErrMemberIdRequired {
		m.mu.Lock()
		m.mu.ghost = ghost.MemberId
		m.mu.Unlock()
		err = m.log.atGroup(ctx, m.config.Group, join)
	}
	if ctx.Err() != nil || code(err) == sarama.ErrUnknownMemberId {
		return nil // it was taken out, because the round is there
	}
	return err
}

// ghostSession is how long a ghost stays in the group whose process died before it could take it out.
const ghostSession = 10 * time.Second

// dismiss takes the ghost out of the group.
func (m *membership) dismiss(ghost string) {
	ctx, cancel := context.WithTimeout(m.ctx, dismissWithin)
	defer cancel()
	request := &sarama.LeaveGroupRequest{Version: 4, GroupId: m.config.Group, Members: []sarama.MemberIdentity{{MemberId: ghost}}}
	err := m.log.atGroup(ctx, m.config.Group, func(b *sarama.Broker) error {
		answer, err := b.LeaveGroup(request)
		if err != nil {
			return err
		}
		return orNil(answer.Err)
	})
	if err != nil && m.ctx.Err() == nil {
		m.log.dialer.log.Info("kafka: a member that only asked for a round stays until its session ends", "group", m.config.Group, "error", err)
	}
}

// dismissWithin bounds the wait for that: heartbeats stand still meanwhile.
const dismissWithin = 2 * time.Second

// leaveGrace is how long sarama may take to let go of its session. A join that waits for other members is cut off then.
const leaveGrace = 2 * time.Second

// Leave is described at wire.Membership.
func (m *membership) Leave(ctx context.Context, stay bool) error {
	who := m.Identity()
	m.end(errClosed)
	defer m.done.Wait()
	grace := time.NewTimer(leaveGrace)
	defer grace.Stop()
	select {
	case <-m.ran:
	case <-grace.C:
		m.dials.kill()
	case <-ctx.Done():
		m.dials.kill()
	}
	stop := context.AfterFunc(ctx, m.dials.kill)
	if err := m.group.Close(); err != nil {
		m.log.dialer.log.Debug("kafka: closing the group's client", "group", m.config.Group, "error", err)
	}
	stop()
	m.dials.kill()
	if who.Member == "" || stay && who.Instance != "" {
		return nil // it has no seat, or keeps it
	}
	return m.leave(ctx, who)
}

// leave takes the member out, if it is still in: sarama does so for dynamic members, and never for static ones.
func (m *membership) leave(ctx context.Context, who wire.Identity) error {
	member := sarama.MemberIdentity{MemberId: who.Member, GroupInstanceId: optional(who.Instance)}
	request := &sarama.LeaveGroupRequest{Version: 4, GroupId: who.Group, Members: []sarama.MemberIdentity{member}}
	err := m.log.persist(ctx, func() error {
		return m.log.atGroup(ctx, who.Group, func(b *sarama.Broker) error {
			answer, err := b.LeaveGroup(request)
			if err != nil {
				return err
			}
			for _, a := range answer.Members {
				if a.Err != sarama.ErrNoError {
					return a.Err
				}
			}
			return orNil(answer.Err)
		})
	})
	if err == nil || code(err) == sarama.ErrUnknownMemberId || code(err) == sarama.ErrFencedInstancedId {
		return nil
	}
	return fmt.Errorf("kafka: leaving group %q: %w", who.Group, err)
}

// dials is the dialer of a group's client. It keeps its connections, to end them all at once.
type dials struct {
	*dialer
	mu struct {
		sync.Mutex
		open   []net.Conn
		killed bool
	}
}

// Dial is called by sarama.
func (d *dials) Dial(network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
	defer cancel()
	raw, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.killed {
		raw.Close()
		return nil, net.ErrClosed
	}
	d.mu.open = append(d.mu.open, raw)
	return raw, nil
}

func (d *dials) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.killed = true
	for _, c := range d.mu.open {
		c.Close()
	}
	d.mu.open = nil
}
