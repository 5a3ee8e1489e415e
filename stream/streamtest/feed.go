package streamtest

import (
	"context"
	"fmt"
	"strconv"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// A feed is a source that an In writes to, for sources that are not topics. Its records stay: they are read again after a crash.
type feed[K, V any] struct {
	name  string
	parts [][]stream.Record[K, V]
	key   func(k K) []byte
	turn  int
}

func newFeed[K, V any](name string, partitions int) *feed[K, V] {
	f := &feed[K, V]{name: name, parts: make([][]stream.Record[K, V], partitions)}
	s, err := serde.Bind(serde.For[K](), serde.Binding{Topic: name, Key: true, Internal: true})
	f.key = func(k K) []byte {
		if err == nil {
			if b, err := s.Append(nil, k); err == nil {
				return b
			}
		}
		return fmt.Append(nil, k) // what has no serde still needs a partition
	}
	return f
}

// add gives the record a partition and an offset.
func (f *feed[K, V]) add(r stream.Record[K, V]) {
	p := f.turn % len(f.parts)
	if r.NoKey {
		f.turn++
	} else {
		p = int(partition.Of(f.key(r.Key), int32(len(f.parts))))
	}
	r.Origin = connector.Origin{Topic: f.name, Partition: int32(p), Offset: int64(len(f.parts[p]))}
	f.parts[p] = append(f.parts[p], r)
}

func (f *feed[K, V]) Name() string { return f.name }

func (f *feed[K, V]) Partitions(context.Context, connector.Env) (int, error) {
	return len(f.parts), nil
}

func (f *feed[K, V]) Open(_ context.Context, _ connector.Env, partition int, from connector.Position) (connector.Reader[K, V], error) {
	r := &feedReader[K, V]{f: f, partition: partition}
	if from != "" {
		at, err := strconv.Atoi(string(from))
		if err != nil {
			return nil, fmt.Errorf("position %q: %w", from, err)
		}
		r.next = at
	}
	return r, nil
}

// A feedReader reads one partition of a feed.
type feedReader[K, V any] struct {
	f         *feed[K, V]
	partition int
	next      int
	told      bool // that it is at its end
}

// Next returns what is new; it never waits.
func (r *feedReader[K, V]) Next(ctx context.Context) (connector.Batch[K, V], error) {
	b := &connector.Values[K, V]{After: connector.ReadState{AtEnd: true}}
	for _, rec := range r.f.parts[r.partition][r.next:] {
		r.next++
		b.Records = append(b.Records, rec)
		b.Positions = append(b.Positions, connector.Position(strconv.Itoa(r.next)))
	}
	if len(b.Records) == 0 && r.told {
		return nil, ctx.Err()
	}
	r.told = true
	return b, nil
}

func (r *feedReader[K, V]) Close() error { return nil }
