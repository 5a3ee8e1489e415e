package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
)

// Open reads a partition from a position; "" is where the source is configured to start.
func (s *TopicSource[K, V]) Open(ctx context.Context, env connector.Env, partition int, from connector.Position) (connector.Reader[K, V], error) {
	decode, err := s.decoder()
	if err != nil {
		return nil, err
	}
	decode.headers = env.Headers
	at, err := s.places(from)
	if err != nil {
		return nil, fmt.Errorf("source %q partition %d: %w", s.Name(), partition, err)
	}
	l, done, err := connected(ctx, s.cluster, env)
	if err != nil {
		return nil, err
	}
	logger := env.Logger
	if logger == nil {
		logger = slog.Default()
	}
	how := wire.ReadOptions{Committed: true, Headers: env.Headers || decode.looksAtHeaders()}
	if s.pattern == nil && len(s.topics) == 1 {
		t, err := openTopicReader(ctx, &s.reading, l, logger, wire.TopicPartition{Topic: s.topics[0], Partition: int32(partition)}, placeOf(at, s.topics[0]), how)
		if err != nil {
			done()
			return nil, err
		}
		return &sourceReader[K, V]{decode: decode, t: t, done: done}, nil
	}
	m, err := openMerge(ctx, s, l, logger, int32(partition), at, how)
	if err != nil {
		done()
		return nil, err
	}
	return &mergeReader[K, V]{decode: decode, merge: m, done: done}, nil
}

func (s *TopicSource[K, V]) places(from connector.Position) ([]wire.TopicOffset, error) {
	if from == "" {
		return nil, nil
	}
	return decodePosition(from)
}

// placeOf is a topic's offset in a position, -1 when it has none.
func placeOf(at []wire.TopicOffset, topic string) int64 {
	i := slices.IndexFunc(at, func(t wire.TopicOffset) bool { return t.Topic == topic })
	if i < 0 {
		return -1
	}
	return at[i].Offset
}

// A decoder makes records of a source's types.
type decoder[K, V any] struct {
	key       serde.Serde[K]
	value     serde.Serde[V]
	nullKey   serde.Nullable[K] // nil unless the serde has a value for null
	nullValue serde.Nullable[V]
	headKey   serde.HeaderDecoder[K] // nil unless the serde may find its schema in a header
	headValue serde.HeaderDecoder[V]
	headers   bool // records keep their headers
	time      func(K, V) time.Time
}

// looksAtHeaders reports whether headers are read even if nothing else in the topology looks at them.
func (d *decoder[K, V]) looksAtHeaders() bool { return d.headKey != nil || d.headValue != nil }

func (s *TopicSource[K, V]) decoder() (*decoder[K, V], error) {
	key, value, err := s.serdes()
	if err != nil {
		return nil, err
	}
	d := &decoder[K, V]{key: key, value: value, time: s.time}
	d.nullKey, _ = key.(serde.Nullable[K])
	d.nullValue, _ = value.(serde.Nullable[V])
	d.headKey, _ = key.(serde.HeaderDecoder[K])
	d.headValue, _ = value.(serde.HeaderDecoder[V])
	return d, nil
}

var errZeroTime = errors.New("kafka: the source's Time function returned the zero time")

// decode fills r. Where it came from is there even when an error is returned.
func (d *decoder[K, V]) decode(at wire.TopicPartition, from *wire.Record, r *connector.Record[K, V]) (err error) {
	*r = connector.Record[K, V]{
		Time:   toTime(from.Time),
		Origin: connector.Origin{Topic: at.Topic, Partition: at.Partition, Offset: from.Offset},
	}
	if d.headers && len(from.Headers) > 0 {
		r.Headers = make(connector.Headers, len(from.Headers))
		for i, h := range from.Headers {
			r.Headers[i] = connector.Header{Key: h.Key, Value: slices.Clone(h.Value)}
		}
	}
	switch {
	case from.Key != nil:
		if r.Key, err = decodeWith(d.key, d.headKey, from.Key, from.Headers); err != nil {
			return fmt.Errorf("key of %d bytes: %w", len(from.Key), err)
		}
	default:
		r.NoKey = true
		if d.nullKey != nil {
			r.Key = d.nullKey.Null()
		}
	}
	switch {
	case from.Value != nil:
		if r.Value, err = decodeWith(d.value, d.headValue, from.Value, from.Headers); err != nil {
			return fmt.Errorf("value of %d bytes: %w", len(from.Value), err)
		}
	case d.nullValue != nil:
		r.Value = d.nullValue.Null()
	default:
		r.Deleted = true
		return nil // there is no value to take a time from
	}
	if d.time != nil {
		if r.Time = d.time(r.Key, r.Value); r.Time.IsZero() {
			r.Time = toTime(from.Time)
			return errZeroTime
		}
	}
	return nil
}

// decodeWith decodes a key or value with a look at the record's headers, where the serde wants one and there are some.
func decodeWith[T any](s serde.Serde[T], head serde.HeaderDecoder[T], b []byte, headers []wire.Header) (T, error) {
	if head == nil || len(headers) == 0 {
		return s.Decode(b)
	}
	return head.DecodeHeaders(b, func(name string) []byte {
		for i := len(headers) - 1; i >= 0; i-- {
			if headers[i].Key == name {
				return headers[i].Value
			}
		}
		return nil
	})
}

// A sourceReader reads a partition of one topic.
type sourceReader[K, V any] struct {
	decode *decoder[K, V]
	t      *topicReader
	done   func()
}

func (r *sourceReader[K, V]) Next(ctx context.Context) (connector.Batch[K, V], error) {
	b, err := r.t.nextBatch(ctx)
	if err != nil {
		return nil, err
	}
	return &sourceBatch[K, V]{r.decode, b}, nil
}

func (r *sourceReader[K, V]) Close() error {
	defer r.done()
	return r.t.close()
}

// A sourceBatch is a wire.Batch with types.
type sourceBatch[K, V any] struct {
	d *decoder[K, V]
	*wire.Batch
}

func (b *sourceBatch[K, V]) Len() int { return len(b.Records) }
func (b *sourceBatch[K, V]) Decode(i int, r *connector.Record[K, V]) error {
	return b.d.decode(b.TopicPartition, &b.Records[i], r)
}
func (b *sourceBatch[K, V]) Raw(i int) (key, value []byte) {
	return b.Records[i].Key, b.Records[i].Value
}
func (b *sourceBatch[K, V]) Position(i int) connector.Position {
	return encodePosition([]wire.TopicOffset{{Topic: b.Topic, Offset: b.Records[i].Offset + 1}})
}
func (b *sourceBatch[K, V]) End() connector.Position {
	return encodePosition([]wire.TopicOffset{{Topic: b.Topic, Offset: b.Next}})
}
func (b *sourceBatch[K, V]) State() connector.ReadState { return stateOf(b.Batch) }

// Bytes is what the batch holds in memory. For the engine.
func (b *sourceBatch[K, V]) Bytes() int { return b.Batch.Bytes }
