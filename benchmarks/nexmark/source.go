package nexmark

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/connector"
)

// batchLen is how many events a batch promises. Nothing is made before it is decoded, so it costs no memory.
const batchLen = 1024

// A Source reads events that are made while they are read. Event n is in partition n modulo the number of partitions.
type Source struct {
	gen        *event.Generator
	count      uint64
	partitions int
}

// NewSource reads events 0 to count-1 in a number of partitions, then ends.
func NewSource(g *event.Generator, count uint64, partitions int) Source {
	return Source{g, count, max(partitions, 1)}
}

// Name implements connector.Source.
func (Source) Name() string { return "events" }

// Partitions implements connector.Source.
func (s Source) Partitions(context.Context, connector.Env) (int, error) { return s.partitions, nil }

// Open implements connector.Source. A position is the number of the partition's next event.
func (s Source) Open(_ context.Context, _ connector.Env, partition int, from connector.Position) (connector.Reader[struct{}, event.Event], error) {
	next := uint64(partition)
	if from != "" {
		n, err := strconv.ParseUint(string(from), 10, 64)
		if err != nil || n%uint64(s.partitions) != uint64(partition) {
			return nil, fmt.Errorf("nexmark: %q is no position of partition %d of %d", from, partition, s.partitions)
		}
		next = n
	}
	return &reader{src: s, next: next}, nil
}

type reader struct {
	src  Source
	next uint64
}

// Next implements connector.Reader.
func (r *reader) Next(ctx context.Context) (connector.Batch[struct{}, event.Event], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.next >= r.src.count {
		return nil, io.EOF
	}
	step := uint64(r.src.partitions)
	n := min((r.src.count-r.next+step-1)/step, batchLen)
	b := &batch{src: r.src, first: r.next, n: int(n)}
	r.next += n * step
	return b, nil
}

// Close implements connector.Reader.
func (r *reader) Close() error { return nil }

// A batch is a range of numbers.
type batch struct {
	src   Source
	first uint64
	n     int
}

func (b *batch) number(i int) uint64 { return b.first + uint64(i*b.src.partitions) }

func (b *batch) Len() int { return b.n }

func (b *batch) Decode(i int, r *connector.Record[struct{}, event.Event]) error {
	n := b.number(i)
	b.src.gen.Event(n, &r.Value)
	r.Key, r.NoKey, r.Deleted, r.Headers = struct{}{}, true, false, nil
	r.Time = time.UnixMilli(b.src.gen.Time(n))
	r.Origin = connector.Origin{Topic: "events", Partition: int32(n % uint64(b.src.partitions)), Offset: int64(n / uint64(b.src.partitions))}
	return nil
}

func (b *batch) Raw(int) (key, value []byte) { return nil, nil }

func (b *batch) Position(i int) connector.Position {
	return connector.Position(strconv.FormatUint(b.number(i+1), 10))
}

func (b *batch) End() connector.Position { return b.Position(b.n - 1) }

func (b *batch) State() connector.ReadState {
	more := b.number(b.n) < b.src.count
	return connector.ReadState{More: more, AtEnd: !more}
}

func (b *batch) Release() {}
