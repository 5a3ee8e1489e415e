package kafka

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// strategyName is the protocol that all members of an app's group agree on. It changes when what members tell each other does.
const strategyName = "weir-1"

// A strategy is the membership as sarama's consumer group sees it: sarama asks it what to say at each join, has it plan when this
// member leads, and tells it what was assigned. All calls come from the goroutine that runs the group.
type strategy struct {
	m    *membership
	plan map[string]wire.Assignment // the last, for its user data
}

// Name, SupportedProtocols, Plan, AssignmentData, SubscriptionUserData and OnAssignment are what sarama asks of a strategy. Plan never
// returns an error: that would end the session of this member, and of the next leader, and so on.
func (s *strategy) Name() string { return strategyName }

func (s *strategy) SupportedProtocols() []sarama.RebalanceProtocol {
	return []sarama.RebalanceProtocol{sarama.RebalanceProtocolCooperative}
}

func (s *strategy) SubscriptionUserData([]string) ([]byte, error) { return s.m.joining(), nil }

func (s *strategy) OnAssignment(a *sarama.ConsumerGroupMemberAssignment, generation int32) {
	s.m.assigned(a, generation)
}

func (s *strategy) AssignmentData(member string, _ map[string][]int32, _ int32) ([]byte, error) {
	return s.plan[member].UserData, nil
}

func (s *strategy) Plan(members map[string]sarama.ConsumerGroupMemberMetadata, _ map[string][]int32) (sarama.BalanceStrategyPlan, error) {
	seats, owner := describe(members)
	s.m.leads()
	s.plan = withhold(s.m.config.Plan(seats), owner)
	out := make(sarama.BalanceStrategyPlan, len(members))
	for id := range members {
		for _, at := range s.plan[id].Partitions {
			out.Add(id, at.Topic, at.Partition)
		}
		if out[id] == nil {
			out[id] = make(map[string][]int32) // user data goes to everyone, also to who gets nothing
		}
	}
	return out, nil
}

// describe is the group as the leader sees it, with the owner of each partition that has one.
func describe(members map[string]sarama.ConsumerGroupMemberMetadata) (seats []wire.Member, owner map[wire.TopicPartition]string) {
	owner = make(map[wire.TopicPartition]string)
	for id, meta := range members {
		seat := wire.Member{ID: id, Topics: meta.Topics}
		var err error
		if seat.Instance, seat.UserData, err = openEnvelope(meta.UserData); err != nil {
			continue // a ghost, or someone else's program: it gets nothing
		}
		for _, o := range meta.OwnedPartitions {
			for _, p := range o.Partitions {
				at := wire.TopicPartition{Topic: o.Topic, Partition: p}
				seat.Owned = append(seat.Owned, at)
				// A member that missed a generation may still claim what has gone to another since: the later claim is true.
				if other, ok := owner[at]; !ok || members[other].GenerationID < meta.GenerationID {
					owner[at] = id
				}
			}
		}
		seats = append(seats, seat)
	}
	for i := range seats {
		seats[i].Owned = slices.DeleteFunc(seats[i].Owned, func(at wire.TopicPartition) bool { return owner[at] != seats[i].ID })
		sortPartitions(seats[i].Owned)
	}
	slices.SortFunc(seats, func(a, b wire.Member) int { return cmp.Compare(a.ID, b.ID) })
	return seats, owner
}

// withhold takes out of a plan what another member still owns, and what is planned twice. The owner gives it up, joins again, and in
// the round that follows it is free.
func withhold(plan map[string]wire.Assignment, owner map[wire.TopicPartition]string) map[string]wire.Assignment {
	taken := make(map[wire.TopicPartition]bool)
	out := make(map[string]wire.Assignment, len(plan))
	for id, a := range plan {
		var free []wire.TopicPartition
		for _, at := range a.Partitions {
			if o, owned := owner[at]; (owned && o != id) || taken[at] {
				continue
			}
			taken[at] = true
			free = append(free, at)
		}
		out[id] = wire.Assignment{Partitions: free, UserData: a.UserData}
	}
	return out
}

func sortPartitions(list []wire.TopicPartition) {
	slices.SortFunc(list, func(a, b wire.TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

// An envelope is what a member says when it joins: version byte 1, the length of its instance id as an unsigned varint, that id
// (sarama keeps it to itself), and the engine's bytes. A ghost says a byte of its own and nothing else.
const (
	envelopeVersion = 1
	envelopeGhost   = 255
)

var errEnvelope = errors.New("kafka: a member of the group is not one of ours")

func sealEnvelope(instance string, data []byte) []byte {
	b := binary.AppendUvarint([]byte{envelopeVersion}, uint64(len(instance)))
	b = append(b, instance...)
	return append(b, data...)
}

func openEnvelope(b []byte) (instance string, data []byte, err error) {
	if len(b) == 0 || b[0] != envelopeVersion {
		return "", nil, errEnvelope
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size > uint64(len(b)-1-n) {
		return "", nil, errEnvelope
	}
	b = b[1+n:]
	return string(b[:size]), b[size:], nil
}
