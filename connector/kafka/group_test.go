package kafka

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/wire"
)

func planAll(topic string, partitions int32) func([]wire.Member) map[string]wire.Assignment {
	return func(members []wire.Member) map[string]wire.Assignment {
		out := make(map[string]wire.Assignment)
		for p := range partitions {
			id := members[int(p)%len(members)].ID
			a := out[id]
			a.Partitions = append(a.Partitions, wire.TopicPartition{Topic: topic, Partition: p})
			out[id] = a
		}
		return out
	}
}

func (r *rig) join(topic string, partitions int32) *membership {
	r.Helper()
	m, err := r.log.Join(r.ctx, wire.GroupConfig{
		Group: topic, Topics: []string{topic}, SessionTimeout: 6 * time.Second, RebalanceTimeout: 10 * time.Second, Plan: planAll(topic, partitions),
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { m.Leave(r.ctx, false) })
	return m.(*membership)
}

func (r *rig) event(m wire.Membership) wire.GroupEvent {
	r.Helper()
	select {
	case e, ok := <-m.Events():
		if !ok {
			r.Fatalf("the membership has ended: %v", m.Err())
		}
		return e
	case <-r.ctx.Done():
		r.Fatal("no event")
		return wire.GroupEvent{}
	}
}

// A member that the group has forgotten is told so, and gets a new seat by itself.
func TestLostSeatIsTakenAgain(t *testing.T) {
	c := fake(t)
	r := newRig(t, c.ListenAddrs()...)
	topic := r.topic(2)
	m := r.join(topic, 2)
	if e := r.event(m); e.Assigned == nil || len(e.Assigned.Partitions) != 2 {
		t.Fatalf("%+v", e)
	}
	before := m.Identity()
	c.ControlKey(int16(kmsg.Heartbeat), func(q kmsg.Request) (kmsg.Response, error, bool) {
		answer := q.ResponseKind().(*kmsg.HeartbeatResponse)
		answer.ErrorCode = kerr.UnknownMemberID.Code
		return answer, nil, true
	})
	if e := r.event(m); !errors.Is(e.Lost, sarama.ErrUnknownMemberId) {
		t.Fatalf("%+v", e)
	}
	e := r.event(m)
	if e.Assigned == nil || len(e.Assigned.Added) != 2 {
		t.Fatalf("%+v", e)
	}
	if who := m.Identity(); who.Generation <= before.Generation {
		t.Errorf("identity %+v after %+v", who, before)
	}
}

// A member that does not release what was revoked loses its seat: the partition cannot be with two.
func TestNotReleasedIsLost(t *testing.T) {
	r := newRig(t, fake(t).ListenAddrs()...)
	topic := r.topic(2)
	join := func(l *clusterLog) *membership {
		m, err := l.Join(r.ctx, wire.GroupConfig{Group: topic, Topics: []string{topic}, SessionTimeout: 6 * time.Second, RebalanceTimeout: time.Second, Plan: planAll(topic, 2)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Leave(r.ctx, false) })
		return m.(*membership)
	}
	a := join(r.log)
	if e := r.event(a); e.Assigned == nil || len(e.Assigned.Partitions) != 2 {
		t.Fatalf("%+v", e)
	}
	b := join(connect(t, r.brokers))
	revoked := false
	for {
		e := r.event(a)
		revoked = revoked || e.Revoked != nil
		if e.Lost != nil {
			break
		}
	}
	if !revoked {
		t.Error("lost without a revocation")
	}
	for held := 0; held == 0; {
		if e := r.event(b); e.Assigned != nil {
			held = len(e.Assigned.Partitions)
		}
	}
}

// A claim of sarama's that ends by itself is no revocation.
func TestClaimsReadNothing(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	m := r.join(topic, 1)
	r.event(m)
	w := r.writer(wire.WriterConfig{})
	a := r.appender(w, "t", 1)
	to := r.to(a, topic)
	for range 1000 {
		to.Append(0, now(), nil, make([]byte, 100), nil)
	}
	a.Cut(1)
	r.flush(w, 1)
	m.Rejoin()
	if e := r.event(m); e.Assigned == nil || len(e.Assigned.Added) != 0 || len(e.Assigned.Partitions) != 1 {
		t.Errorf("%+v", e)
	}
}

func TestLeaveEndsEvents(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	m := r.join(topic, 1)
	r.event(m)
	if err := m.Leave(r.ctx, false); err != nil {
		t.Fatal(err)
	}
	if _, ok := <-m.Events(); ok {
		t.Error("an event after Leave")
	}
	if m.Err() != nil {
		t.Error(m.Err())
	}
	groups, err := r.admin.DescribeGroups(r.ctx, topic)
	if err != nil || len(groups[topic].Members) != 0 {
		t.Errorf("%v, %v", groups, err)
	}
}

func TestJoinRefusesWhatCannotWork(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]wire.GroupConfig{
		"no topics": {Group: "g"},
		"instance":  {Group: "g", Topics: []string{"t"}, Instance: "with space"},
	} {
		if _, err := r.log.Join(r.ctx, c); !errors.Is(err, wire.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func owned(topic string, partitions ...int32) []*sarama.OwnedPartition {
	return []*sarama.OwnedPartition{{Topic: topic, Partitions: partitions}}
}

// Two members claim a partition: the one that joined the later generation is right.
func TestStaleOwnersAreNotBelieved(t *testing.T) {
	seats, owner := describe(map[string]sarama.ConsumerGroupMemberMetadata{
		"old":   {UserData: sealEnvelope("", []byte("o")), OwnedPartitions: owned("t", 0, 1), GenerationID: 3},
		"new":   {UserData: sealEnvelope("i", []byte("n")), OwnedPartitions: owned("t", 1), GenerationID: 4},
		"ghost": {UserData: []byte{envelopeGhost}},
		"other": {UserData: []byte("someone else's")},
	})
	at := func(p int32) wire.TopicPartition { return wire.TopicPartition{Topic: "t", Partition: p} }
	if owner[at(0)] != "old" || owner[at(1)] != "new" {
		t.Errorf("owners %v", owner)
	}
	if len(seats) != 2 || seats[0].ID != "new" || seats[0].Instance != "i" || !slices.Equal(seats[1].Owned, []wire.TopicPartition{at(0)}) {
		t.Errorf("seats %+v", seats)
	}
}

// What another member owns, and what is planned twice, is withheld.
func TestPlanIsWithheld(t *testing.T) {
	at := func(p int32) wire.TopicPartition { return wire.TopicPartition{Topic: "t", Partition: p} }
	owner := map[wire.TopicPartition]string{at(0): "a", at(1): "a"}
	got := withhold(map[string]wire.Assignment{
		"a": {Partitions: []wire.TopicPartition{at(0), at(0)}},
		"b": {Partitions: []wire.TopicPartition{at(1), at(2)}, UserData: []byte("b")},
	}, owner)
	if !slices.Equal(got["a"].Partitions, []wire.TopicPartition{at(0)}) || !slices.Equal(got["b"].Partitions, []wire.TopicPartition{at(2)}) || string(got["b"].UserData) != "b" {
		t.Errorf("%+v", got)
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add(sealEnvelope("instance", []byte("data")))
	f.Add([]byte{1, 200, 200})
	f.Add([]byte{envelopeGhost})
	f.Fuzz(func(t *testing.T, b []byte) {
		instance, data, err := openEnvelope(b)
		if err != nil {
			return
		}
		i, d, err := openEnvelope(sealEnvelope(instance, data))
		if err != nil || i != instance || !slices.Equal(d, data) {
			t.Fatalf("%q %q became %q %q, %v", instance, data, i, d, err)
		}
	})
}
