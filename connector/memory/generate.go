package memory

import (
	"context"
	"io"

	"github.com/weirstream/weir/connector"
)

// Generate is a source of n records in each of its partitions, or of endlessly many with a negative n. f fills record i of a
// partition, always the same for the same i, because it is called again after a crash. r comes empty but for its Origin. f is called by
// the task that processes the record, and by several tasks at once when there are several partitions.
func Generate[K, V any](name string, partitions int, n int64, f func(partition int, i int64, r *connector.Record[K, V])) connector.Source[K, V] {
	return generator[K, V]{name, partitions, n, f}
}

type generator[K, V any] struct {
	name       string
	partitions int
	n          int64
	f          func(partition int, i int64, r *connector.Record[K, V])
}

func (g generator[K, V]) Name() string { return g.name }

func (g generator[K, V]) Partitions(context.Context, connector.Env) (int, error) {
	return g.partitions, nil
}

func (g generator[K, V]) Open(_ context.Context, _ connector.Env, partition int, from connector.Position) (connector.Reader[K, V], error) {
	at, err := parse(g.name, partition, from)
	if err != nil {
		return nil, err
	}
	return &generated[K, V]{g: g, partition: partition, at: at}, nil
}

// generateBatch is how many records make a batch. Nothing is made before it is decoded, so a batch costs the same whatever its size.
const generateBatch = 512

type generated[K, V any] struct {
	g         generator[K, V]
	partition int
	at        int64
}

func (r *generated[K, V]) Next(context.Context) (connector.Batch[K, V], error) {
	count := int64(generateBatch)
	if r.g.n >= 0 {
		count = min(count, r.g.n-r.at)
	}
	if count <= 0 {
		return nil, io.EOF
	}
	b := &generatedBatch[K, V]{g: r.g, partition: r.partition, first: r.at, count: count}
	r.at += count
	return b, nil
}

func (r *generated[K, V]) Close() error { return nil }

type generatedBatch[K, V any] struct {
	g            generator[K, V]
	partition    int
	first, count int64
}

func (b *generatedBatch[K, V]) Len() int { return int(b.count) }

func (b *generatedBatch[K, V]) Decode(i int, r *connector.Record[K, V]) error {
	at := b.first + int64(i)
	*r = connector.Record[K, V]{Origin: connector.Origin{Topic: b.g.name, Partition: int32(b.partition), Offset: at}}
	b.g.f(b.partition, at, r)
	return nil
}

func (b *generatedBatch[K, V]) Raw(int) (key, value []byte) { return nil, nil }

func (b *generatedBatch[K, V]) Position(i int) connector.Position {
	return position(b.first + int64(i) + 1)
}

func (b *generatedBatch[K, V]) End() connector.Position { return position(b.first + b.count) }

func (b *generatedBatch[K, V]) State() connector.ReadState {
	last := b.g.n >= 0 && b.first+b.count == b.g.n
	return connector.ReadState{More: !last}
}

func (b *generatedBatch[K, V]) Release() {}
