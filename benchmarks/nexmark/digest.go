package nexmark

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A Digest is what the rows of a query come to as bytes of a topic: in a few bytes a row, so that millions can be compared. Rows of
// streams are taken in any order; of a table the last one of each key counts. Its methods may be called by many goroutines at once.
type Digest struct {
	table bool
	seed  maphash.Seed
	mu    sync.Mutex
	count int64
	sum   uint64            // of a stream
	rows  map[uint64]uint64 // of a table

	want  *Digest
	right int // rows of a table that are as want has them
}

// Expect runs a query over the first events in this process and digests its rows.
func Expect(ctx context.Context, q Query, g *event.Generator, count uint64) (*Digest, error) {
	d := &Digest{table: q.Table, seed: maphash.MakeSeed(), rows: map[uint64]uint64{}}
	return d, Run(ctx, q, g, count, 1, Encoded(d.Add))
}

// Run runs a query over the first events in this process, to their end.
func Run(ctx context.Context, q Query, g *event.Generator, count uint64, partitions int, out Output) error {
	b := stream.New("nexmark-" + q.Name)
	q.Build(b, b.Source(Source(g, count, partitions)), out)
	app, err := b.Build(stream.Config{State: state.InMemory(), Exchange: stream.Local})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// Beside is a new digest that is compared with this one as it grows.
func (d *Digest) Beside() *Digest {
	return &Digest{table: d.table, seed: d.seed, rows: map[uint64]uint64{}, want: d}
}

// Add takes a row; a nil value deletes it.
func (d *Digest) Add(key, value []byte) {
	k, v := maphash.Bytes(d.seed, key), maphash.Bytes(d.seed, value)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	if !d.table {
		d.sum += v
		return
	}
	d.right -= d.as(k)
	if value == nil {
		delete(d.rows, k)
	} else {
		d.rows[k] = v
	}
	d.right += d.as(k)
}

// as is 1 when the row of a key is as it should be.
func (d *Digest) as(k uint64) int {
	if d.want == nil {
		return 0
	}
	have, ok := d.rows[k]
	if want, wanted := d.want.rows[k]; ok && wanted && have == want {
		return 1
	}
	return 0
}

// Count is how many rows were added.
func (d *Digest) Count() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// Complete reports whether all rows are there; Check then says whether they are right.
func (d *Digest) Complete() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.table {
		return d.count >= d.want.count
	}
	return d.right == len(d.want.rows) && len(d.rows) == len(d.want.rows)
}

// Check says how the rows differ from those that are wanted.
func (d *Digest) Check() error {
	complete := d.Complete()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.table && !complete:
		return fmt.Errorf("of %d rows %d are right, and there are %d", len(d.want.rows), d.right, len(d.rows))
	case !d.table && d.count != d.want.count:
		return fmt.Errorf("%d rows, want %d", d.count, d.want.count)
	case !d.table && d.sum != d.want.sum:
		return fmt.Errorf("%d rows as expected, but not the right ones", d.count)
	}
	return nil
}
