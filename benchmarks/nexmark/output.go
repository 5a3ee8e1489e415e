package nexmark

import (
	"context"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// An Output is where a query's rows go.
type Output struct {
	topic   string
	collect func(key, value any, deleted bool)
	encoded func(key, value []byte)
}

// Discard drops rows, as the suite's black hole does: queries are measured, not sinks.
func Discard() Output { return Output{} }

// Collect calls f for each row, from many goroutines at once.
func Collect(f func(key, value any, deleted bool)) Output { return Output{collect: f} }

// Encoded calls f for each row as a topic would have it, from many goroutines at once; a deleted row has a nil value.
func Encoded(f func(key, value []byte)) Output { return Output{encoded: f} }

// Topic writes a topic.
func Topic(name string) Output { return Output{topic: name} }

func (o Output) stream[K, V any](s *stream.Stream[K, V]) {
	if o.topic != "" {
		s.To(kafka.Sink(o.topic, serde.For[K](), serde.For[V]()))
		return
	}
	s.To(local[K, V](o), stream.AtLeastOnceSink())
}

func (o Output) table[K, V any](t *stream.Table[K, V]) {
	if o.topic != "" {
		t.To(kafka.Sink(o.topic, serde.For[K](), serde.For[V]()))
		return
	}
	t.To(local[K, V](o), stream.AtLeastOnceSink())
}

// local is the sink of an Output without a topic.
type local[K, V any] Output

func (local[K, V]) Name() string { return "rows" }

func (l local[K, V]) Open(context.Context, connector.Env, connector.Task) (connector.Writer[K, V], error) {
	return l, nil
}

func (l local[K, V]) Write(r *connector.Record[K, V]) error {
	switch {
	case l.collect != nil:
		l.collect(r.Key, r.Value, r.Deleted)
	case l.encoded != nil:
		return l.encode(r)
	}
	return nil
}

func (l local[K, V]) encode(r *connector.Record[K, V]) error {
	key, err := serde.For[K]().Append(nil, r.Key)
	if err != nil {
		return err
	}
	var value []byte
	if !r.Deleted {
		value, err = serde.For[V]().Append([]byte{}, r.Value)
	}
	l.encoded(key, value)
	return err
}

func (local[K, V]) Flush(context.Context) error { return nil }
func (local[K, V]) Close() error                { return nil }
