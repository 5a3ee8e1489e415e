package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

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
			if err := s.commits.(*kafkaLog).commitForGood(ctx, at); err != nil {
				return fmt.Errorf("commit before processing: %w", err)
			}
			return nil
		}
	}
	return func(context.Context, connector.Position) error {
		return fmt.Errorf("%w: AtMostOnce needs sources whose positions the group keeps, and %s is not one", ErrConfig, input)
	}
}

// commitForGood commits positions plainly, so that nothing moves them back: as long as a commit that has gone without an answer may still be carried out, none of them is
// taken for done. The group is asked for a round, and they are committed again in the next generation (docs/adr/0076).
func (l *kafkaLog) commitForGood(ctx context.Context, at []wire.Position) error {
	for tries := 0; ; tries++ {
		turned := l.seat.turned()
		who, err := l.identity()
		if err == nil {
			err = l.s.base.log.CommitPlain(ctx, who, at)
		}
		switch {
		case err != nil:
			return err
		case !l.s.base.log.Unanswered(who):
			return nil
		}
		l.askForRound()
		if !l.s.threaded {
			if tries == 0 {
				continue // the round is over, unless others have to give something up first
			}
			return &errRecover{errUnanswered}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-turned:
		case <-time.After(generationWait):
		}
	}
}

var errUnanswered = errors.New("a commit has gone without an answer, and the group holds no round that would put an end to it")
