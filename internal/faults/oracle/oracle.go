// Package oracle judges what an app has left behind on a cluster, and knows nothing of how it came about: committed records, positions
// and open transactions are all it looks at. Each check returns every finding, as one error.
//
// Records may come from any reader. Read uses a wire.Log; tests against a real broker read with a client that we did not write.
package oracle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirstream/weir/internal/wire"
)

// Records are a topic's committed records by partition, each in the order of offsets.
type Records map[int32][]wire.Record

// findings is how many of one kind an error lists before it only counts.
const findings = 10

// Read reads what is committed in a topic now: from the start of each partition to its last stable offset.
func Read(ctx context.Context, l wire.Log, topic string) (Records, error) {
	parts, err := partitions(ctx, l, topic)
	if err != nil {
		return nil, err
	}
	starts, err := l.List(ctx, wire.Start, parts)
	if err != nil {
		return nil, err
	}
	ends, err := l.List(ctx, wire.Stable, parts)
	if err != nil {
		return nil, err
	}
	all := Records{}
	for _, at := range parts {
		if all[at.Partition], err = readPartition(ctx, l, at, starts[at], ends[at]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func partitions(ctx context.Context, l wire.Log, topic string) ([]wire.TopicPartition, error) {
	found, err := l.Topics(ctx, topic)
	if err != nil {
		return nil, err
	}
	t, ok := found[topic]
	if !ok {
		return nil, fmt.Errorf("topic %q: %w", topic, wire.ErrNoTopic)
	}
	var parts []wire.TopicPartition
	for p := range t.Partitions {
		parts = append(parts, wire.TopicPartition{Topic: topic, Partition: p})
	}
	return parts, nil
}

func readPartition(ctx context.Context, l wire.Log, at wire.TopicPartition, from, end int64) ([]wire.Record, error) {
	r, err := l.Read(ctx, at, from, wire.ReadOptions{Committed: true, Headers: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var records []wire.Record
	for next := from; next < end; {
		b, err := r.Next(ctx)
		if err != nil {
			return nil, fmt.Errorf("topic %s partition %d offset %d: %w", at.Topic, at.Partition, next, err)
		}
		for _, rec := range b.Records {
			rec.Key, rec.Value = bytes.Clone(rec.Key), bytes.Clone(rec.Value)
			rec.Headers = slices.Clone(rec.Headers)
			for i := range rec.Headers {
				rec.Headers[i].Value = bytes.Clone(rec.Headers[i].Value)
			}
			records = append(records, rec)
		}
		next = b.Next
		b.Release()
	}
	return records, nil
}

// Decimal reads a value that is a number in digits.
func Decimal(value []byte) (int64, error) { return strconv.ParseInt(string(value), 10, 64) }

// Counts checks running sums: in every partition that has records, the values of each key are 1, 2, … n in this order, where n is
// what want says of the key. A value too much is a record that took effect twice; one that is missing, one that was lost. With keys that
// have no record at all it finds fault too.
func Counts(r Records, want map[string]int64, number func(value []byte) (int64, error)) error {
	var found report
	last := map[string]int64{}
	for _, p := range slices.Sorted(maps.Keys(r)) {
		for _, rec := range r[p] {
			n, err := number(rec.Value)
			switch key := string(rec.Key); {
			case err != nil:
				found.add("partition %d offset %d: value %q of key %q: %v", p, rec.Offset, rec.Value, key, err)
			case n <= last[key]:
				found.add("partition %d offset %d: key %q has %d again, after %d", p, rec.Offset, key, n, last[key])
			case n > last[key]+1:
				found.add("partition %d offset %d: key %q has %d after %d: %d lost", p, rec.Offset, key, n, last[key], n-last[key]-1)
				last[key] = n
			default:
				last[key] = n
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if last[key] != want[key] {
			found.add("key %q ends with %d, want %d", key, last[key], want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(last)) {
		if _, ok := want[key]; !ok {
			found.add("key %q was never put in", key)
		}
	}
	return found.err()
}

// Once checks that each value was written exactly once, in any partition and any order.
func Once(r Records, want []string) error {
	var found report
	seen := map[string]int{}
	for _, p := range slices.Sorted(maps.Keys(r)) {
		for _, rec := range r[p] {
			if v := string(rec.Value); seen[v] > 0 {
				found.add("partition %d offset %d: %q again", p, rec.Offset, v)
			}
			seen[string(rec.Value)]++
		}
	}
	for _, v := range want {
		if seen[v] == 0 {
			found.add("%q is missing", v)
		}
		delete(seen, v)
	}
	for _, v := range slices.Sorted(maps.Keys(seen)) {
		found.add("%q was never put in", v)
	}
	return found.err()
}

// Table is the state that a topic of updates amounts to: the last value of each key; a null deletes.
func Table(r Records) map[string]string {
	rows := map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(r)) {
		for _, rec := range r[p] {
			if rec.Value == nil {
				delete(rows, string(rec.Key))
			} else {
				rows[string(rec.Key)] = string(rec.Value)
			}
		}
	}
	return rows
}

// Same checks a table against a plain fold over the input.
func Same(got, want map[string]string) error {
	var found report
	for _, key := range slices.Sorted(maps.Keys(want)) {
		switch v, ok := got[key]; {
		case !ok:
			found.add("key %q is missing, want %q", key, want[key])
		case v != want[key]:
			found.add("key %q is %q, want %q", key, v, want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			found.add("key %q is %q, want none", key, got[key])
		}
	}
	return found.err()
}

// NothingOpen checks that no transaction of an id with this prefix is in progress.
func NothingOpen(ctx context.Context, l wire.Log, prefix string) error {
	open, err := l.OpenTransactions(ctx, prefix)
	if err != nil {
		return err
	}
	var found report
	for _, t := range open {
		found.add("transactional id %s is open since %v", t.ID, t.Started)
	}
	return found.err()
}

// NoLag checks that a group has committed the end of every partition of these topics. A partition that never had a record needs no
// position.
func NoLag(ctx context.Context, l wire.Log, group string, topics ...string) error {
	var found report
	for _, topic := range topics {
		parts, err := partitions(ctx, l, topic)
		if err != nil {
			return err
		}
		ends, err := l.List(ctx, wire.End, parts)
		if err != nil {
			return err
		}
		committed, err := l.Committed(ctx, group, parts)
		if err != nil {
			return err
		}
		for _, at := range parts {
			if c := committed[at].Offset; c != ends[at] {
				found.add("group %s is at %d of topic %s partition %d, which ends at %d", group, c, topic, at.Partition, ends[at])
			}
		}
	}
	return found.err()
}

// A report collects findings.
type report struct {
	lines []string
	more  int
}

func (r *report) add(format string, args ...any) {
	if len(r.lines) == findings {
		r.more++
		return
	}
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *report) err() error {
	if len(r.lines) == 0 {
		return nil
	}
	if r.more > 0 {
		r.lines = append(r.lines, fmt.Sprintf("and %d more", r.more))
	}
	return errors.New(strings.Join(r.lines, "\n"))
}
