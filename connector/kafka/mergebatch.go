package kafka

import (
	"context"
	"slices"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
)

// A mergeReader reads a partition of several topics.
type mergeReader[K, V any] struct {
	decode *decoder[K, V]
	merge  *merge
	done   func()
}

func (r *mergeReader[K, V]) Next(ctx context.Context) (connector.Batch[K, V], error) {
	b, err := r.merge.next(ctx)
	if err != nil {
		return nil, err
	}
	return &mergeBatch[K, V]{r.decode, b}, nil
}

func (r *mergeReader[K, V]) Close() error {
	defer r.done()
	r.merge.close()
	return nil
}

// A mergeBatch is a run with types.
type mergeBatch[K, V any] struct {
	d *decoder[K, V]
	*run
}

func (b *mergeBatch[K, V]) Len() int   { return len(b.pieces) }
func (b *mergeBatch[K, V]) Bytes() int { return b.bytes }
func (b *mergeBatch[K, V]) Decode(i int, r *connector.Record[K, V]) error {
	p := b.pieces[i]
	return b.d.decode(p.b.TopicPartition, &p.b.Records[p.i], r)
}
func (b *mergeBatch[K, V]) Raw(i int) (key, value []byte) {
	p := b.pieces[i]
	return p.b.Records[p.i].Key, p.b.Records[p.i].Value
}

// Position counts on from where the run began: it is asked at barriers, not for every record.
func (b *mergeBatch[K, V]) Position(i int) connector.Position {
	at := slices.Clone(b.before)
	for _, p := range b.pieces[:i+1] {
		at[p.topic].Offset = p.b.Records[p.i].Offset + 1
	}
	return encodePosition(at)
}
func (b *mergeBatch[K, V]) End() connector.Position    { return encodePosition(slices.Clone(b.after)) }
func (b *mergeBatch[K, V]) State() connector.ReadState { return b.state }
func (b *mergeBatch[K, V]) Holds() []wire.Hold         { return b.holds }
func (b *mergeBatch[K, V]) Release() {
	for _, p := range b.parts {
		p.release()
	}
	b.parts, b.pieces = nil, nil
}
