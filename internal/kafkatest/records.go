package kafkatest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Record is franz-go's. Producing one takes its Key, Value, Headers and Timestamp, and its Partition by
// [Broker.ProduceTo]; reading fills in everything.
type Record = kgo.Record

// KV makes a record of a key and a value.
func KV(key, value string) *Record { return &Record{Key: []byte(key), Value: []byte(value)} }

// Produce writes records and waits until all in-sync replicas have them. Their keys pick the partitions as Kafka's own
// producer picks them.
func (b *Broker) Produce(topic string, records ...*Record) {
	b.t.Helper()
	for _, r := range records {
		r.Topic, r.Partition = topic, byKey
	}
	b.produce(records)
}

// ProduceTo is Produce to one partition.
func (b *Broker) ProduceTo(topic string, partition int32, records ...*Record) {
	b.t.Helper()
	for _, r := range records {
		r.Topic, r.Partition = topic, partition
	}
	b.produce(records)
}

func (b *Broker) produce(records []*Record) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := b.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		b.t.Fatalf("kafkatest: producing %d records to %s: %v", len(records), records[0].Topic, err)
	}
}

// byKey marks a record whose partition its key decides.
const byKey = -1

// placed obeys a record's own partition where there is one.
type placed struct{}

func (placed) ForTopic(topic string) kgo.TopicPartitioner {
	return placedTopic{hashed: kgo.StickyKeyPartitioner(nil).ForTopic(topic)}
}

type placedTopic struct{ hashed kgo.TopicPartitioner }

func (p placedTopic) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition != byKey || p.hashed.RequiresConsistency(r)
}

func (p placedTopic) Partition(r *kgo.Record, n int) int {
	if r.Partition != byKey {
		return int(r.Partition)
	}
	return p.hashed.Partition(r, n)
}

// ReadCommitted reads a topic as a read_committed consumer would, from its start to what was stable when it was called,
// ordered by partition and offset. A real broker writes the markers of a transaction a moment after it has answered that
// the transaction is committed: await the last record first, see [Broker.Await].
func (b *Broker) ReadCommitted(topic string) []*Record {
	b.t.Helper()
	return b.read(topic, b.StableOffsets(topic), kgo.ReadCommitted())
}

// ReadAll is ReadCommitted with the records of aborted and open transactions in it, to the high watermark.
func (b *Broker) ReadAll(topic string) []*Record {
	b.t.Helper()
	return b.read(topic, b.EndOffsets(topic), kgo.ReadUncommitted())
}

// Await reads a topic as a read_committed consumer would until done says that what was read so far is enough, and
// returns it, in the order of arrival. The test fails when that takes longer than [Patience].
func (b *Broker) Await(topic string, done func(soFar []*Record) bool) []*Record {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	r := b.newReader(topic, kgo.ReadCommitted())
	var all []*Record
	for !done(all) {
		more, err := r.fetch(ctx, 200*time.Millisecond)
		if err != nil {
			b.t.Fatalf("kafkatest: %s has %d records and the test waits for more: %v", topic, len(all), err)
		}
		all = append(all, more...)
	}
	return all
}

// AwaitCount is Await for a number of records.
func (b *Broker) AwaitCount(topic string, n int) []*Record {
	b.t.Helper()
	return b.Await(topic, func(soFar []*Record) bool { return len(soFar) >= n })
}

func (b *Broker) read(topic string, ends map[int32]int64, isolation kgo.IsolationLevel) []*Record {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	r := b.newReader(topic, isolation)
	var all []*Record
	for r.before(ends) {
		more, err := r.fetch(ctx, 200*time.Millisecond)
		if err != nil {
			b.t.Fatalf("kafkatest: reading %s up to %v, at %v: %v", topic, ends, r.next, err)
		}
		all = append(all, more...)
	}
	all = slices.DeleteFunc(all, func(r *Record) bool { return r.Offset >= ends[r.Partition] })
	slices.SortFunc(all, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return all
}

// A reader fetches by itself instead of through franz-go's consumer, because only so does it know its position: the
// last offset of a partition is often a marker or compacted away, and no record ever carries it.
type reader struct {
	b         *Broker
	topic     string
	isolation kgo.IsolationLevel
	next      map[int32]int64
}

func (b *Broker) newReader(topic string, isolation kgo.IsolationLevel) *reader {
	b.t.Helper()
	return &reader{b: b, topic: topic, isolation: isolation, next: b.StartOffsets(topic)}
}

func (r *reader) before(ends map[int32]int64) bool {
	for p, end := range ends {
		if r.next[p] < end {
			return true
		}
	}
	return false
}

// fetch asks every leader once; each answers when it has something, or after wait.
func (r *reader) fetch(ctx context.Context, wait time.Duration) ([]*Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	topics, err := r.b.admin.ListTopics(ctx, r.topic)
	if err != nil {
		return nil, err
	}
	leaders := make(map[int32][]int32)
	for p := range r.next {
		leader := topics[r.topic].Partitions[p].Leader
		leaders[leader] = append(leaders[leader], p)
	}
	var all []*Record
	for leader, partitions := range leaders {
		if leader < 0 {
			continue // an election is on: the next round finds its winner
		}
		more, err := r.fetchFrom(ctx, leader, partitions, topics[r.topic].ID, wait)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

func (r *reader) fetchFrom(ctx context.Context, leader int32, partitions []int32, id [16]byte, wait time.Duration) ([]*Record, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(wait.Milliseconds())
	req.MinBytes, req.MaxBytes = 1, 32<<20
	req.IsolationLevel = isolationByte(r.isolation)
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = r.topic, id
	for _, p := range partitions {
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = p, r.next[p], 4<<20
		topic.Partitions = append(topic.Partitions, part)
	}
	req.Topics = append(req.Topics, topic)
	answer, err := r.b.client.Broker(int(leader)).RetriableRequest(ctx, req)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, kgo.ErrClientClosed) {
			return nil, nil // the node is gone; metadata will name another
		}
		return nil, err
	}
	var all []*Record
	for _, t := range answer.(*kmsg.FetchResponse).Topics {
		for i := range t.Partitions {
			all = append(all, r.take(&t.Partitions[i])...)
		}
	}
	return all, nil
}

// take decodes one partition's answer. A partition in trouble has no records and is asked again.
func (r *reader) take(p *kmsg.FetchResponseTopicPartition) []*Record {
	if p.ErrorCode != 0 {
		return nil
	}
	decoded, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: r.next[p.Partition], IsolationLevel: r.isolation, Topic: r.topic, Partition: p.Partition,
	}, p, kgo.DefaultDecompressor(), nil)
	r.next[p.Partition] = next
	return decoded.Records
}

func isolationByte(l kgo.IsolationLevel) int8 {
	if l == kgo.ReadCommitted() {
		return 1
	}
	return 0
}
