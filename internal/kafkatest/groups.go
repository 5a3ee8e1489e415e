package kafkatest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// A Committed is a group's position in a partition.
type Committed struct {
	Offset   int64
	Metadata string
}

// GroupOffsets are the positions that a group has committed, by topic and partition.
func (b *Broker) GroupOffsets(group string) map[string]map[int32]Committed {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	answer, err := b.admin.FetchOffsets(ctx, group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil // nobody has joined yet
	}
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		b.t.Fatalf("kafkatest: offsets of group %s: %v", group, err)
	}
	all := make(map[string]map[int32]Committed)
	answer.Each(func(o kadm.OffsetResponse) {
		if all[o.Topic] == nil {
			all[o.Topic] = make(map[int32]Committed)
		}
		all[o.Topic][o.Partition] = Committed{Offset: o.At, Metadata: o.Metadata}
	})
	return all
}

// Members are the ids of a group's members, instance ids where they have one; empty when there is no such group.
func (b *Broker) Members(group string) []string {
	b.t.Helper()
	var ids []string
	for _, m := range b.group(group).Members {
		if m.InstanceID != nil {
			ids = append(ids, *m.InstanceID)
		} else {
			ids = append(ids, m.MemberID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Assigned is what the members of a group have been given, by the names that Members uses and by topic.
func (b *Broker) Assigned(group string) map[string]map[string][]int32 {
	b.t.Helper()
	all := map[string]map[string][]int32{}
	for _, m := range b.group(group).Members {
		name := m.MemberID
		if m.InstanceID != nil {
			name = *m.InstanceID
		}
		all[name] = map[string][]int32{}
		if c, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range c.Topics {
				all[name][t.Topic] = t.Partitions
			}
		}
	}
	return all
}

func (b *Broker) group(group string) kadm.DescribedGroup {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	for { // a coordinator that has only just been made, or is moving, says so
		all, err := b.admin.DescribeGroups(ctx, group)
		if err == nil {
			return all[group]
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("kafkatest: describing group %s: %v", group, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// DumpGroup describes a group for a test's log: state, members with what they have, committed positions.
func (b *Broker) DumpGroup(group string) string {
	b.t.Helper()
	g := b.group(group)
	var s strings.Builder
	fmt.Fprintf(&s, "group %s: %s, protocol %q\n", group, g.State, g.Protocol)
	for _, m := range g.Members {
		instance := "-"
		if m.InstanceID != nil {
			instance = *m.InstanceID
		}
		fmt.Fprintf(&s, "  member %s instance %s client %s", m.MemberID, instance, m.ClientID)
		if c, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range c.Topics {
				fmt.Fprintf(&s, " %s%v", t.Topic, t.Partitions)
			}
		}
		s.WriteByte('\n')
	}
	offsets := b.GroupOffsets(group)
	for _, topic := range sortedKeys(offsets) {
		for _, p := range sortedKeys(offsets[topic]) {
			fmt.Fprintf(&s, "  %s/%d at %d %q\n", topic, p, offsets[topic][p].Offset, offsets[topic][p].Metadata)
		}
	}
	return s.String()
}

// OpenTransactions lists the transactional ids that start with prefix and have begun a transaction that has not ended.
func (b *Broker) OpenTransactions(prefix string) []string {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	all, err := b.admin.ListTransactions(ctx, nil, []string{"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
	if err != nil {
		b.t.Fatalf("kafkatest: listing transactions: %v", err)
	}
	var ids []string
	for id := range all {
		if strings.HasPrefix(id, prefix) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Eventually asks again and again until the condition holds, and fails the test after [Patience]. It is for facts of a
// broker that nothing announces (a group's state, a deleted topic); records are awaited with Await.
func (b *Broker) Eventually(what string, holds func() bool) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			b.t.Fatalf("kafkatest: waited %v for %s", Patience, what)
		case <-tick.C:
		}
	}
}

func sortedKeys[K interface{ ~int32 | ~string }, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
