package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

const (
	defaultSession   = 45 * time.Second
	defaultRebalance = time.Minute
	heartbeatLeast   = 100 * time.Millisecond
	heartbeatMost    = time.Second
)

// A membership is a wire.Membership on sarama's consumer group.
//
// sarama joins, keeps the seat and starts a claim for each partition it was given. Claims read nothing: each pauses itself at once and
// only waits until its channel closes. What was assigned and revoked is told by the assignment itself, never by a claim: one that closes
// for a reason of sarama's own changes nothing.
type membership struct {
	log    *clusterLog
	config wire.GroupConfig
	group  sarama.ConsumerGroup
	dials  *dials
	ctx    context.Context // ends with the membership
	end    context.CancelCauseFunc
	done   sync.WaitGroup
	ran    chan struct{} // closed when sarama's session is over for good
	events chan wire.GroupEvent
	asking sync.Mutex // UserData is asked by one goroutine at a time

	mu struct {
		sync.Mutex
		queue      []wire.GroupEvent
		more       chan struct{} // holds one token when queue has something
		session    sarama.ConsumerGroupSession
		generation int32
		leader     bool
		claims     map[wire.TopicPartition]*claim // held, or revoked and not released
		first      *wire.Assigned                 // of a session that is not there yet
		ghost      string                         // the member that asks for a round
		asked      context.CancelFunc             // ends its join, which sarama's own makes needless
		abort      context.CancelCauseFunc        // gives the seat up
		err        error
	}
	rejoin chan struct{}
}

// A claim is one partition that this member holds.
type claim struct {
	revoked  bool
	released chan struct{}
	once     sync.Once
}

func (c *claim) release() { c.once.Do(func() { close(c.released) }) }

// Join is described at wire.Log.
func (l *clusterLog) Join(ctx context.Context, c wire.GroupConfig) (wire.Membership, error) {
	if len(c.Topics) == 0 {
		return nil, fmt.Errorf("kafka: joining group %q: no topics: %w", c.Group, wire.ErrRefused)
	}
	m := &membership{log: l, config: c, dials: &dials{dialer: l.dialer}, events: make(chan wire.GroupEvent), rejoin: make(chan struct{}, 1), ran: make(chan struct{})}
	m.mu.more, m.mu.claims = make(chan struct{}, 1), make(map[wire.TopicPartition]*claim)
	s, err := m.settings()
	if err != nil {
		return nil, err
	}
	var group sarama.ConsumerGroup
	err = l.persist(ctx, func() (err error) {
		group, err = sarama.NewConsumerGroup(l.dir.addresses(), c.Group, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kafka: joining group %q: %w", c.Group, named(err))
	}
	m.group = group
	m.ctx, m.end = context.WithCancelCause(ctx)
	m.done.Go(m.run)
	m.done.Go(m.pump)
	m.done.Go(m.nudge)
	m.done.Go(func() {
		for err := range group.Errors() {
			l.dialer.log.Warn("kafka: group", "group", c.Group, "error", err)
		}
	})
	return m, nil
}

// settings are sarama's for the group. Its own reading of offsets and records must never end the session, so it reads uncommitted, from the
// end, and starts again where an offset is out of range; nothing of it is used.
func (m *membership) settings() (*sarama.Config, error) {
	s := *m.log.settings
	session := cmp.Or(m.config.SessionTimeout, defaultSession)
	rebalance := cmp.Or(m.config.RebalanceTimeout, defaultRebalance)
	s.Net.ReadTimeout = rebalance + requestTimeout // a join is answered when all have joined
	s.Net.Proxy.Enable, s.Net.Proxy.Dialer = true, m.dials
	s.ChannelBufferSize = 1
	s.Metadata.Full, s.Metadata.AllowAutoTopicCreation = false, false
	s.Metadata.RefreshFrequency = 30 * time.Second // also how soon new partitions are seen
	s.Consumer.Return.Errors = true
	s.Consumer.IsolationLevel = sarama.ReadUncommitted
	s.Consumer.Offsets.Initial, s.Consumer.Offsets.AutoCommit.Enable = sarama.OffsetNewest, false
	s.Consumer.Fetch.Default, s.Consumer.Fetch.Min = 1, 1
	s.Consumer.Group.ResetInvalidOffsets = true
	s.Consumer.Group.InstanceId = m.config.Instance
	s.Consumer.Group.Session.Timeout = session
	s.Consumer.Group.Heartbeat.Interval = min(max(session/15, heartbeatLeast), heartbeatMost)
	s.Consumer.Group.Rebalance.Timeout = rebalance
	s.Consumer.Group.Rebalance.Retry.Backoff = 200 * time.Millisecond
	s.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{&strategy{m: m}}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("kafka: joining group %q: %w: %w", m.config.Group, wire.ErrRefused, err)
	}
	return &s, nil
}

// run keeps the seat, and takes a new one when it is lost.
func (m *membership) run() {
	defer m.abandon()
	defer close(m.ran)
	wait := newBackoff()
	for m.ctx.Err() == nil {
		h := &handler{m: m}
		ctx, cancel := context.WithCancelCause(m.ctx)
		m.mu.Lock()
		m.mu.abort = cancel
		m.mu.Unlock()
		err := m.group.Consume(ctx, m.config.Topics, h)
		err = cmp.Or(givenUp(ctx), err)
		cancel(nil)
		err = cmp.Or(h.cause, err)
		m.lose(err)
		if m.ctx.Err() != nil {
			return
		}
		if final(err) {
			m.finish(fmt.Errorf("kafka: group %q: %w", m.config.Group, named(err)))
			return
		}
		m.log.dialer.log.Warn("kafka: the seat in the group is lost, joining again", "group", m.config.Group, "error", err)
		wait.sleep(m.ctx, time.Time{})
	}
}

// abandon ends sarama's client when nobody called Leave: like a process that has died, without a word to the group.
func (m *membership) abandon() {
	cause := context.Cause(m.ctx)
	if errors.Is(cause, errClosed) {
		return
	}
	m.finish(cause)
	m.dials.kill()
	_ = m.group.Close()
}

// final reports whether joining again cannot help: another process has the instance id, or the cluster refuses.
func final(err error) bool {
	return err != nil && (errors.Is(named(err), wire.ErrRefused) || code(err) == sarama.ErrFencedInstancedId)
}

// lose forgets all that was held, and says so if there was a session.
func (m *membership) lose(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	had := m.mu.session != nil
	m.mu.session, m.mu.first = nil, nil
	for _, c := range m.mu.claims {
		c.release()
	}
	clear(m.mu.claims)
	if had && m.ctx.Err() == nil {
		if err == nil {
			err = errors.New("the session has ended")
		}
		m.pushLocked(wire.GroupEvent{Lost: fmt.Errorf("kafka: group %q: %w", m.config.Group, err)})
	}
}

// joining is what this member says when it joins. What was revoked must have been released by now; where sarama joins without having
// waited for a claim (one that never started), this waits.
func (m *membership) joining() []byte {
	m.mu.Lock()
	m.mu.leader = false
	ghost, asked := m.mu.ghost, m.mu.asked
	m.mu.ghost, m.mu.asked = "", nil
	var open []*claim
	for _, c := range m.mu.claims {
		if c.revoked {
			open = append(open, c)
		}
	}
	m.mu.Unlock()
	if ghost != "" {
		m.dismiss(ghost)
	}
	if asked != nil {
		asked()
	}
	m.awaitReleases(open)
	return m.userData()
}

var errNotReleased = errors.New("revoked partitions were not released within the rebalance timeout")

// awaitReleases gives the seat up when what was revoked is not released in time: to join as if it were would give it to two members.
func (m *membership) awaitReleases(open []*claim) {
	timer := time.NewTimer(cmp.Or(m.config.RebalanceTimeout, defaultRebalance))
	defer timer.Stop()
	for _, c := range open {
		select {
		case <-c.released:
		case <-m.ctx.Done():
		case <-timer.C:
			m.mu.Lock()
			abort := m.mu.abort
			m.mu.Unlock()
			abort(errNotReleased)
			return
		}
	}
}

// givenUp is why the seat was given up by this process itself.
func givenUp(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errNotReleased) {
		return cause
	}
	return nil
}

func (m *membership) userData() []byte {
	m.asking.Lock()
	defer m.asking.Unlock()
	var data []byte
	if m.config.UserData != nil {
		data = m.config.UserData()
	}
	return sealEnvelope(m.config.Instance, data)
}

func (m *membership) leads() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.leader = true
}

// assigned is told the outcome of a round. The first of a session is kept until there is one.
func (m *membership) assigned(a *sarama.ConsumerGroupMemberAssignment, generation int32) {
	out := &wire.Assigned{Generation: generation}
	out.UserData = slices.Clone(a.UserData)
	for topic, partitions := range a.Topics {
		for _, p := range partitions {
			out.Partitions = append(out.Partitions, wire.TopicPartition{Topic: topic, Partition: p})
		}
	}
	sortPartitions(out.Partitions)

	m.mu.Lock()
	defer m.mu.Unlock()
	out.Leader, m.mu.generation = m.mu.leader, generation
	var revoked []wire.TopicPartition
	for at, c := range m.mu.claims {
		if !slices.Contains(out.Partitions, at) && !c.revoked {
			c.revoked = true
			revoked = append(revoked, at)
		}
	}
	for _, at := range out.Partitions {
		if c := m.mu.claims[at]; c == nil || c.revoked {
			out.Added = append(out.Added, at)
			m.mu.claims[at] = &claim{released: make(chan struct{})}
		}
	}
	if len(revoked) > 0 {
		sortPartitions(revoked)
		m.pushLocked(wire.GroupEvent{Revoked: revoked})
	}
	if m.mu.session == nil {
		m.mu.first = out
		return
	}
	out.Member = m.mu.session.MemberID()
	m.pushLocked(wire.GroupEvent{Assigned: out})
}

// Release is described at wire.Membership.
func (m *membership) Release(p []wire.TopicPartition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, at := range p {
		if c := m.mu.claims[at]; c != nil && c.revoked {
			c.release()
			delete(m.mu.claims, at)
		}
	}
}

// Identity is described at wire.Membership.
func (m *membership) Identity() wire.Identity {
	m.mu.Lock()
	defer m.mu.Unlock()
	who := wire.Identity{Group: m.config.Group, Instance: m.config.Instance, Generation: -1}
	if m.mu.session != nil {
		who.Member, who.Generation = m.mu.session.MemberID(), m.mu.generation
	}
	return who
}

// Events and Err are described at wire.Membership.
func (m *membership) Events() <-chan wire.GroupEvent { return m.events }
func (m *membership) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.err
}

func (m *membership) pushLocked(e wire.GroupEvent) {
	m.mu.queue = append(m.mu.queue, e)
	signal(m.mu.more)
}

// pump hands events over in order, so that sarama never waits for whoever reads them.
func (m *membership) pump() {
	defer close(m.events)
	for {
		m.mu.Lock()
		queue := m.mu.queue
		m.mu.queue = nil
		m.mu.Unlock()
		for _, e := range queue {
			select {
			case m.events <- e:
			case <-m.ctx.Done():
				return
			}
		}
		select {
		case <-m.mu.more:
		case <-m.ctx.Done():
			return
		}
	}
}

// finish ends the membership for a reason.
func (m *membership) finish(err error) {
	m.mu.Lock()
	if m.mu.err == nil {
		m.mu.err = err
	}
	m.mu.Unlock()
	m.end(err)
}
