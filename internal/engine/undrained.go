package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirstream/weir/internal/wire"
)

// verifyDrained refuses to run with the local exchange over what a run with Exchange Kafka has left in its repartition topics: nobody
// would process it. The topics stay after they have been drained, so what counts are records behind the group's positions. A drained
// topic is emptied: brokers forget positions that are not used, and what had been processed would look as if it had not.
func (s *session) verifyDrained(ctx context.Context) error {
	var names []string
	for _, sub := range s.plan.Subs {
		for _, x := range sub.In {
			if s.config.local(x) {
				names = append(names, s.plan.exchangeTopic(x))
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	found, err := s.base.log.Topics(ctx, names...)
	if err != nil {
		return fmt.Errorf("look for repartition topics of earlier runs: %w", err)
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(found)) {
		at, err := s.firstLeft(ctx, found[name])
		switch {
		case err != nil:
			return fmt.Errorf("look at what is left in repartition topic %s: %w", name, err)
		case at != nil:
			problems = append(problems, fmt.Errorf("%w: repartition topic %s/%d has records from offset %d on that no task has processed, and the local exchange does not read it: "+
				"run with Exchange: Kafka again and end that run by Stop(Drain), or delete the topic to give them up", ErrTopology, name, at.Partition, at.offset))
		}
	}
	return errors.Join(problems...)
}

// A left record is one that nobody has processed.
type left struct {
	wire.TopicPartition
	offset int64
}

// firstLeft looks in each partition of a topic, from the group's position to the end, for a record that is not a mark.
func (s *session) firstLeft(ctx context.Context, t wire.Topic) (*left, error) {
	all := make([]wire.TopicPartition, t.Partitions)
	for p := range all {
		all[p] = wire.TopicPartition{Topic: t.Name, Partition: int32(p)}
	}
	committed, err1 := s.base.log.Committed(ctx, s.plan.App, all)
	starts, err2 := s.base.log.List(ctx, wire.Start, all)
	ends, err3 := s.base.log.List(ctx, wire.Stable, all)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	used := map[wire.TopicPartition]int64{}
	for _, tp := range all {
		offset, found, err := s.firstRecord(ctx, tp, max(committed[tp].Offset, starts[tp]), ends[tp])
		if err != nil {
			return nil, err
		}
		if found {
			return &left{tp, offset}, nil
		}
		if ends[tp] > starts[tp] {
			used[tp] = ends[tp]
		}
	}
	if len(used) > 0 {
		if err := s.base.log.DeleteRecords(ctx, used); err != nil {
			s.app.log.Warn("a drained repartition topic was not emptied", "topic", t.Name, "error", err)
		}
	}
	return nil, nil
}

// firstRecord finds the first record with a value in a part of a partition: marks of event time have none.
func (s *session) firstRecord(ctx context.Context, tp wire.TopicPartition, from, to int64) (offset int64, found bool, err error) {
	if from >= to {
		return 0, false, nil
	}
	rd, err := s.base.log.Read(ctx, tp, from, wire.ReadOptions{Committed: true})
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, rd.Close()) }()
	for from < to {
		b, err := rd.Next(ctx)
		if err != nil {
			return 0, false, err
		}
		i := slices.IndexFunc(b.Records, func(r wire.Record) bool { return r.Value != nil })
		if from = b.Next; i >= 0 {
			offset = b.Records[i].Offset
		}
		b.Release()
		if i >= 0 {
			return offset, true, nil
		}
	}
	return 0, false, nil
}
