package engine

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/internal/wire"
)

// hasRecord reports whether the tasks of a sub-topology write records: the group does not keep the positions of all their inputs.
func (s *session) hasRecord(sub *Sub) bool {
	outside := len(sub.Sources)
	for _, src := range sub.Sources {
		if s.sourceNames[src] != nil {
			outside--
		}
	}
	return outside > 0
}

// records reads the tasks topic: the latest record of each task, as far as it is committed.
func (l *kafkaLog) records(ctx context.Context) (map[string]*taskRecord, error) {
	log := l.s.base.log
	tp := wire.TopicPartition{Topic: l.s.plan.tasksTopic()}
	starts, err := log.List(ctx, wire.Start, []wire.TopicPartition{tp})
	if err != nil {
		return nil, err
	}
	ends, err := log.List(ctx, wire.End, []wire.TopicPartition{tp})
	if err != nil {
		return nil, err
	}
	out := map[string]*taskRecord{}
	if starts[tp] >= ends[tp] {
		return out, nil
	}
	rd, err := log.Read(ctx, tp, starts[tp], wire.ReadOptions{Committed: true})
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	for at := starts[tp]; at < ends[tp]; {
		b, err := l.s.next(ctx, rd)
		if err != nil {
			return nil, fmt.Errorf("%s/%d: %w", tp.Topic, tp.Partition, err)
		}
		for i := range b.Records {
			rec := &b.Records[i]
			if out[string(rec.Key)], err = decodeRecord(rec.Value); err != nil {
				return nil, fmt.Errorf("%s/%d@%d: %w", tp.Topic, tp.Partition, rec.Offset, err)
			}
		}
		at = max(at, b.Next)
		b.Release()
	}
	return out, nil
}
