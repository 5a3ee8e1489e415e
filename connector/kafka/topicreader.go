package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
)

// A topicReader reads one partition of one topic and acts when its position is lost. One goroutine uses it.
type topicReader struct {
	reading *reading
	log     wire.Log
	logger  *slog.Logger
	at      wire.TopicPartition
	how     wire.ReadOptions
	next    int64
	started bool // at a place that was chosen, not restored: there is no position to lose before the first record
	r       wire.Reader
}

// openTopic opens a partition at from, or with from < 0 where the source is configured to start.
func openTopicReader(ctx context.Context, s *reading, l wire.Log, logger *slog.Logger, at wire.TopicPartition, from int64, how wire.ReadOptions) (*topicReader, error) {
	t := &topicReader{reading: s, log: l, logger: logger, at: at, how: how, next: from}
	if from < 0 {
		var err error
		if t.next, err = s.startOf(ctx, l, at); err != nil {
			return nil, fmt.Errorf("kafka: where to start in topic %q partition %d: %w", at.Topic, at.Partition, err)
		}
		t.started = s.start != atOffsets
	}
	return t, t.open(ctx)
}

func (t *topicReader) open(ctx context.Context) (err error) {
	t.r, err = t.log.Read(ctx, t.at, t.next, t.how)
	return err
}

// startOf is where a partition with no position begins.
func (s *reading) startOf(ctx context.Context, l wire.Log, at wire.TopicPartition) (int64, error) {
	one := []wire.TopicPartition{at}
	var found map[wire.TopicPartition]int64
	var err error
	switch s.start {
	case Latest:
		found, err = l.List(ctx, wire.End, one)
	case atTime:
		found, err = l.ListAtTime(ctx, s.time, one)
	case atOffsets:
		if offset, ok := s.offsets[at.Partition]; ok {
			return offset, nil
		}
		found, err = l.List(ctx, wire.Start, one)
	default:
		found, err = l.List(ctx, wire.Start, one)
	}
	return found[at], err
}

// nextBatch is the reader's next batch, at a new place if the old one is lost and the source may go on.
func (t *topicReader) nextBatch(ctx context.Context) (*wire.Batch, error) {
	b, err := t.r.Next(ctx)
	if errors.Is(err, wire.ErrOffsetGone) {
		if err := t.lost(ctx, err); err != nil {
			return nil, err
		}
		b, err = t.r.Next(ctx)
	}
	if err != nil {
		return nil, err
	}
	t.next = b.Next
	t.started = t.started && len(b.Records) == 0
	return b, nil
}

// lost goes on where the policy says, or fails with all that an operator needs to decide.
func (t *topicReader) lost(ctx context.Context, cause error) error {
	one := []wire.TopicPartition{t.at}
	first, err := t.log.List(ctx, wire.Start, one)
	if err != nil {
		return err
	}
	end, err := t.log.List(ctx, wire.End, one)
	if err != nil {
		return err
	}
	policy := t.reading.lost
	if t.started && policy == FailWhenLost {
		policy = GoOnEarliest // it had not begun
	}
	said := []any{"topic", t.at.Topic, "partition", t.at.Partition, "position", t.next, "first", first[t.at], "end", end[t.at], "lost", max(first[t.at]-t.next, 0)}
	to := first[t.at]
	switch policy {
	case GoOnLatest:
		to = end[t.at]
	case GoOnEarliest:
	default:
		return fmt.Errorf("kafka: position %d of topic %q partition %d is lost: the partition now has offsets %d to %d, %d are gone unread. "+
			"Decide with kafka.OnPositionLost: %w", t.next, t.at.Topic, t.at.Partition, first[t.at], end[t.at], max(first[t.at]-t.next, 0), cause)
	}
	t.logger.Warn("kafka: the position is lost, reading on elsewhere", append(said, "at", to)...)
	_ = t.r.Close()
	t.next = to
	return t.open(ctx)
}

func (t *topicReader) close() error { return t.r.Close() }

// stateOf says what is known of a partition behind a batch.
func stateOf(b *wire.Batch) connector.ReadState {
	return connector.ReadState{More: b.Next < b.Stable, AtEnd: b.High >= 0 && b.Next >= b.High, Lag: max(b.High-b.Next, 0)}
}

// toTime is a record's time.
func toTime(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
