package kafkatest

import (
	"context"
	"maps"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Topic makes a topic with a name of its own and returns that name.
func (b *Broker) Topic(base string, partitions int) string {
	b.t.Helper()
	name := b.Name(base)
	b.CreateTopic(name, partitions, nil)
	return name
}

// CreateTopic makes a topic. Unless configs say otherwise it keeps records for ever: a real broker looks at retention
// every second here, and test data from 2013 would be gone before it is read.
func (b *Broker) CreateTopic(name string, partitions int, configs map[string]string) {
	b.t.Helper()
	all := map[string]string{"retention.ms": "-1"}
	maps.Copy(all, configs)
	given := make(map[string]*string, len(all))
	for k, v := range all {
		given[k] = &v
	}
	ctx, cancel := b.within()
	defer cancel()
	answer, err := b.admin.CreateTopic(ctx, int32(partitions), -1, given, name)
	if err != nil {
		b.t.Fatalf("kafkatest: creating topic %s: %v %s", name, err, answer.ErrMessage)
	}
	// Created is not yet led: without this a test's first request may meet "unknown topic".
	b.Eventually("leaders of "+name, func() bool {
		topics, err := b.admin.ListTopics(ctx, name)
		if err != nil || topics[name].Err != nil || len(topics[name].Partitions) != partitions {
			return false
		}
		for _, p := range topics[name].Partitions {
			if p.Err != nil || p.Leader < 0 {
				return false
			}
		}
		return true
	})
}

// DeleteTopic deletes a topic.
func (b *Broker) DeleteTopic(name string) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	answers, err := b.admin.DeleteTopics(ctx, name)
	if err == nil {
		err = answers[name].Err
	}
	if err != nil {
		b.t.Fatalf("kafkatest: deleting topic %s: %v", name, err)
	}
	b.client.PurgeTopicsFromClient(name) // it would write to the one that was
}

// Topics lists the topics whose names start with prefix, and how many partitions each has.
func (b *Broker) Topics(prefix string) map[string]int {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	all, err := b.admin.ListTopics(ctx)
	if err != nil {
		b.t.Fatalf("kafkatest: listing topics: %v", err)
	}
	found := make(map[string]int)
	for name, topic := range all {
		if strings.HasPrefix(name, prefix) {
			found[name] = len(topic.Partitions)
		}
	}
	return found
}

// StartOffsets are the first offsets that a topic still has, by partition.
func (b *Broker) StartOffsets(topic string) map[int32]int64 {
	b.t.Helper()
	return b.offsets(topic, b.admin.ListStartOffsets)
}

// EndOffsets are the high watermarks by partition: records in flight included, markers too.
func (b *Broker) EndOffsets(topic string) map[int32]int64 {
	b.t.Helper()
	return b.offsets(topic, b.admin.ListEndOffsets)
}

// StableOffsets are the last stable offsets by partition: everything below is decided.
func (b *Broker) StableOffsets(topic string) map[int32]int64 {
	b.t.Helper()
	return b.offsets(topic, b.admin.ListCommittedOffsets)
}

func (b *Broker) offsets(topic string, list func(context.Context, ...string) (kadm.ListedOffsets, error)) map[int32]int64 {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	listed, err := list(ctx, topic)
	for err == nil && kerr.IsRetriable(listed.Error()) && ctx.Err() == nil { // a leader has moved meanwhile
		listed, err = list(ctx, topic)
	}
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		b.t.Fatalf("kafkatest: offsets of %s: %v", topic, err)
	}
	at := make(map[int32]int64)
	listed.Each(func(o kadm.ListedOffset) { at[o.Partition] = o.Offset })
	return at
}

// DeleteRecords drops what lies before the given offset, as retention would.
func (b *Broker) DeleteRecords(topic string, partition int32, before int64) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	var to kadm.Offsets
	to.AddOffset(topic, partition, before, -1)
	answers, err := b.admin.DeleteRecords(ctx, to)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		b.t.Fatalf("kafkatest: deleting records of %s/%d before %d: %v", topic, partition, before, err)
	}
}

// Leader is the node that leads a partition.
func (b *Broker) Leader(topic string, partition int32) int32 {
	b.t.Helper()
	return b.describe(topic).Partitions[partition].Leader
}

func (b *Broker) describe(topic string) kadm.TopicDetail {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	all, err := b.admin.ListTopics(ctx, topic)
	if err == nil {
		err = all[topic].Err
	}
	if err != nil {
		b.t.Fatalf("kafkatest: describing topic %s: %v", topic, err)
	}
	return all[topic]
}
