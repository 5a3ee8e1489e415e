package memory

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/weirstream/weir/connector"
)

// From is a bounded source: one partition that ends when seq does. seq must be repeatable: it is run again after a crash, and
// must then yield the same records with the same times. Records without an Origin get one that counts them.
func From[K, V any](name string, seq iter.Seq[connector.Record[K, V]]) connector.Source[K, V] {
	return fromSource[K, V]{name, seq}
}

type fromSource[K, V any] struct {
	name string
	seq  iter.Seq[connector.Record[K, V]]
}

func (s fromSource[K, V]) Name() string { return s.name }

// Local says that no other process can read the source: its tasks stay where they are.
func (s fromSource[K, V]) Local() bool { return true }

func (s fromSource[K, V]) Partitions(context.Context, connector.Env) (int, error) { return 1, nil }

func (s fromSource[K, V]) Open(_ context.Context, _ connector.Env, partition int, from connector.Position) (connector.Reader[K, V], error) {
	at, err := parse(s.name, partition, from)
	if err != nil {
		return nil, err
	}
	next, stop := iter.Pull(s.seq)
	for i := range at {
		if _, ok := next(); !ok {
			stop()
			return nil, fmt.Errorf("source %s: position %d is behind its end, it has %d records: the sequence is not the one that was read before", s.name, at, i)
		}
	}
	return &fromReader[K, V]{name: s.name, next: next, stop: stop, at: at}, nil
}

// fromBatch is how many records of a sequence make a batch.
const fromBatch = 256

type fromReader[K, V any] struct {
	name string
	next func() (connector.Record[K, V], bool)
	stop func()
	at   int64     // records read
	used sync.Pool // of *fromRecords that were released
}

func (r *fromReader[K, V]) Next(ctx context.Context) (connector.Batch[K, V], error) {
	b, _ := r.used.Get().(*fromRecords[K, V])
	if b == nil {
		b = &fromRecords[K, V]{pool: &r.used, records: make([]connector.Record[K, V], 0, fromBatch)}
	}
	b.first = r.at
	for len(b.records) < fromBatch {
		record, ok := r.next()
		if !ok {
			break
		}
		if record.Origin == (connector.Origin{}) {
			record.Origin = connector.Origin{Topic: r.name, Offset: r.at}
		}
		b.records = append(b.records, record)
		r.at++
	}
	if len(b.records) == 0 {
		return nil, io.EOF
	}
	return b, nil
}

func (r *fromReader[K, V]) Close() error {
	r.stop()
	return nil
}

// fromRecords is a batch of a sequence.
type fromRecords[K, V any] struct {
	first   int64 // index of the first record
	records []connector.Record[K, V]
	pool    *sync.Pool
}

func (b *fromRecords[K, V]) Len() int { return len(b.records) }

func (b *fromRecords[K, V]) Decode(i int, r *connector.Record[K, V]) error {
	*r = b.records[i]
	return nil
}

func (b *fromRecords[K, V]) Raw(int) (key, value []byte) { return nil, nil }

func (b *fromRecords[K, V]) Position(i int) connector.Position {
	return position(b.first + int64(i) + 1)
}

func (b *fromRecords[K, V]) End() connector.Position {
	return position(b.first + int64(len(b.records)))
}

// State says that more can be read: whether that is so is not known before the sequence is asked, and it answers at once.
func (b *fromRecords[K, V]) State() connector.ReadState { return connector.ReadState{More: true} }

func (b *fromRecords[K, V]) Release() {
	clear(b.records) // the pool must not keep what they point to
	b.records = b.records[:0]
	b.pool.Put(b)
}
