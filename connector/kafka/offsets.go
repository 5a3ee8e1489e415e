package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// Committed is described at wire.Offsets.
func (l *clusterLog) Committed(ctx context.Context, group string, of []wire.TopicPartition) (map[wire.TopicPartition]wire.Committed, error) {
	return l.positions(ctx, group, of, func(wire.TopicPartition) bool { return false })
}

// Settled is described at wire.Offsets.
func (l *clusterLog) Settled(ctx context.Context, group string, of []wire.TopicPartition) (found map[wire.TopicPartition]wire.Committed, open map[wire.TopicPartition]bool, err error) {
	open = make(map[wire.TopicPartition]bool)
	found, err = l.positions(ctx, group, of, func(at wire.TopicPartition) bool {
		open[at] = true
		return true
	})
	for at := range found { // when it was asked again
		delete(open, at)
	}
	return found, open, err
}

// positions reads a group's positions. pending is asked of a partition that a transaction would change: false is to wait for that.
func (l *clusterLog) positions(ctx context.Context, group string, of []wire.TopicPartition, pending func(wire.TopicPartition) bool) (map[wire.TopicPartition]wire.Committed, error) {
	out := make(map[wire.TopicPartition]wire.Committed, len(of))
	if len(of) == 0 {
		return out, nil
	}
	request := &sarama.OffsetFetchRequest{Version: 7, ConsumerGroup: group, RequireStable: true}
	for _, at := range of {
		request.AddPartition(at.Topic, at.Partition)
	}
	err := l.persist(ctx, func() error {
		return l.atGroup(ctx, group, func(b *sarama.Broker) error {
			answer, err := b.FetchOffset(request)
			if err != nil {
				return err
			}
			if answer.Err == sarama.ErrGroupIDNotFound {
				return nil // nobody has committed anything
			}
			if answer.Err != sarama.ErrNoError {
				return answer.Err
			}
			for _, at := range of {
				block := answer.GetBlock(at.Topic, at.Partition)
				switch {
				case block == nil:
					return fmt.Errorf("topic %q partition %d is missing from the answer", at.Topic, at.Partition)
				case block.Err == sarama.ErrUnstableOffsetCommit && pending(at):
				case block.Err != sarama.ErrNoError:
					return fmt.Errorf("topic %q partition %d: %w", at.Topic, at.Partition, block.Err)
				case block.Offset >= 0:
					out[at] = wire.Committed{Offset: block.Offset, Metadata: block.Metadata}
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("kafka: reading the positions of group %q: %w", group, err)
	}
	return out, nil
}

// CommitPlain is described at wire.Offsets.
func (l *clusterLog) CommitPlain(ctx context.Context, who wire.Identity, at []wire.Position) error {
	if len(at) == 0 {
		return nil
	}
	request := &sarama.OffsetCommitRequest{
		Version: 7, ConsumerGroup: who.Group, ConsumerGroupGeneration: who.Generation, ConsumerID: who.Member, GroupInstanceId: optional(who.Instance),
	}
	for _, p := range at {
		request.AddBlockWithLeaderEpoch(p.Topic, p.Partition, p.Offset, -1, 0, p.Metadata)
	}
	err := l.persist(ctx, func() error {
		return l.atGroup(ctx, who.Group, func(b *sarama.Broker) error {
			answer, err := b.CommitOffset(request)
			if err != nil {
				l.mu.Lock()
				l.mu.unanswered[who.Group] = who // even where it did not leave, as far as anybody can tell
				l.mu.Unlock()
				return err
			}
			for topic, partitions := range answer.Errors {
				for p, k := range partitions {
					if k != sarama.ErrNoError {
						return fmt.Errorf("topic %q partition %d: %w", topic, p, k)
					}
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("kafka: committing positions of group %q: %w", who.Group, err)
	}
	return nil
}

// Unanswered is described at wire.Offsets.
func (l *clusterLog) Unanswered(who wire.Identity) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, any := l.mu.unanswered[who.Group]
	return any && was == who
}

// optional is a nullable string of the protocol.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// List is described at wire.Offsets.
func (l *clusterLog) List(ctx context.Context, where wire.Where, of []wire.TopicPartition) (map[wire.TopicPartition]int64, error) {
	switch where {
	case wire.Start:
		return l.list(ctx, sarama.OffsetOldest, sarama.ReadUncommitted, of)
	case wire.Stable:
		return l.list(ctx, sarama.OffsetNewest, sarama.ReadCommitted, of)
	}
	return l.list(ctx, sarama.OffsetNewest, sarama.ReadUncommitted, of)
}

// ListAtTime is described at wire.Offsets.
func (l *clusterLog) ListAtTime(ctx context.Context, t time.Time, of []wire.TopicPartition) (map[wire.TopicPartition]int64, error) {
	found, err := l.list(ctx, max(t.UnixMilli(), 0), sarama.ReadUncommitted, of)
	if err != nil {
		return nil, err
	}
	var after []wire.TopicPartition // nothing is as late as t
	for at, offset := range found {
		if offset < 0 {
			after = append(after, at)
		}
	}
	ends, err := l.List(ctx, wire.End, after)
	if err != nil {
		return nil, err
	}
	for at, end := range ends {
		found[at] = end
	}
	return found, nil
}

func (l *clusterLog) list(ctx context.Context, at int64, isolation sarama.IsolationLevel, of []wire.TopicPartition) (map[wire.TopicPartition]int64, error) {
	out := make(map[wire.TopicPartition]int64, len(of))
	err := l.byLeader(ctx, of, func(b *sarama.Broker, of []wire.TopicPartition) error {
		request := &sarama.OffsetRequest{Version: 5, IsolationLevel: isolation}
		for _, p := range of {
			request.AddBlock(p.Topic, p.Partition, at, 1)
		}
		answer, err := b.GetAvailableOffsets(request)
		if err != nil {
			return err
		}
		for _, p := range of {
			block := answer.GetBlock(p.Topic, p.Partition)
			switch {
			case block == nil:
				return fmt.Errorf("topic %q partition %d is missing from the answer", p.Topic, p.Partition)
			case block.Err != sarama.ErrNoError:
				return fmt.Errorf("topic %q partition %d: %w", p.Topic, p.Partition, block.Err)
			}
			out[p] = block.Offset
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("kafka: looking up offsets: %w", err)
	}
	return out, nil
}
