package engine

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// commitFirst is how the positions of one input are committed before its records are processed.
func (s *session) commitFirst(sub *Sub, input string, partition int) func(context.Context, connector.Position) error {
	for _, in := range s.committable(sub) {
		if in.name != input {
			continue
		}
		ids := s.inputIDs(sub, in.name)
		return func(ctx context.Context, end connector.Position) error {
			var at []wire.Position
			for _, o := range in.offsets(partition, string(end)) {
				at = append(at, wire.Position{
					TopicPartition: wire.TopicPartition{Topic: o.Topic, Partition: int32(partition)},
					Committed:      wire.Committed{Offset: o.Offset, Metadata: metadata{mark: task.NewMark(), topic: idOf(ids, o.Topic)}.String()},
				})
			}
			who, err := s.commits.(*kafkaLog).identity()
			if err == nil {
				err = s.base.log.CommitPlain(ctx, who, at)
			}
			if err != nil {
				return fmt.Errorf("commit before processing: %w", err)
			}
			return nil
		}
	}
	return func(context.Context, connector.Position) error {
		return fmt.Errorf("%w: AtMostOnce needs sources whose positions the group keeps, and %s is not one", ErrConfig, input)
	}
}
