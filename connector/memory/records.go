package memory

import (
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// Append adds records to a partition, past all writers and faults, and returns the offset of the first. Their bytes are copied;
// their offsets are ignored.
func (c *Cluster) Append(topic string, partition int32, records ...wire.Record) (int64, error) {
	b := c.enter()
	defer c.leave()
	p, err := b.partition(wire.TopicPartition{Topic: topic, Partition: partition})
	if err != nil {
		return 0, err
	}
	var a arena
	copied := make([]wire.Record, len(records))
	for i, r := range records {
		copied[i] = a.record(r.Time, r.Key, r.Value, r.Headers)
	}
	return p.append(copied, nil, b.now.UnixMilli())
}

// Records returns what a read_committed reader of a partition finds from an offset on, and where it would go on. An offset before
// the start is the start. The records are the cluster's own: they are read, not changed.
func (c *Cluster) Records(topic string, partition int32, from int64) (records []wire.Record, next int64, err error) {
	b := c.enter()
	defer c.leave()
	p, err := b.partition(wire.TopicPartition{Topic: topic, Partition: partition})
	if err != nil {
		return nil, 0, err
	}
	const all = 1 << 30
	for next = max(from, p.start); ; {
		some, then, _ := p.read(next, true, all)
		if len(some) == 0 {
			return records, then, nil
		}
		records, next = append(records, some...), then
	}
}

// Topics are the names of the topics and their partitions.
func (c *Cluster) Topics() map[string]int {
	b := c.enter()
	defer c.leave()
	found := map[string]int{}
	for name, t := range b.topics {
		found[name] = len(t.parts)
	}
	return found
}

// Committed are a group's positions, whatever transactions are pending.
func (c *Cluster) Committed(group string) map[wire.TopicPartition]wire.Committed {
	b := c.enter()
	defer c.leave()
	found := map[wire.TopicPartition]wire.Committed{}
	for at, o := range b.group(group).offsets {
		found[at] = o.Committed
	}
	return found
}

// OpenTransactions are the transactional ids with that prefix that have something open, sorted.
func (c *Cluster) OpenTransactions(prefix string) []string {
	b := c.enter()
	defer c.leave()
	var ids []string
	for _, t := range b.openTransactions(prefix) {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	return ids
}

// Dump calls f for everything in a partition, in order, also what no reader sees: aborted records, and markers, which have no record.
func (c *Cluster) Dump(topic string, partition int32, f func(e Entry)) error {
	b := c.enter()
	defer c.leave()
	p, err := b.partition(wire.TopicPartition{Topic: topic, Partition: partition})
	if err != nil {
		return err
	}
	for _, batch := range p.batches {
		e := Entry{Marker: batch.marker}
		if batch.span != nil {
			e.Transaction, e.State = batch.span.id, batch.span.state.String()
		}
		if batch.marker {
			e.Record = wire.Record{Offset: batch.base, Time: batch.maxTime}
			f(e)
		}
		for _, r := range batch.records {
			e.Record = r
			f(e)
		}
	}
	return nil
}

// An Entry is a line of Dump.
type Entry struct {
	Record      wire.Record
	Marker      bool
	Transaction string // the transactional id, or ""
	State       string // of the transaction: open, committed or aborted
}

func (s spanState) String() string { return [...]string{"open", "committed", "aborted"}[s] }
