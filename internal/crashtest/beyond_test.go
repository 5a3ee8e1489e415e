package crashtest

import (
	"context"
	"slices"
	"testing"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// TestRestoreStopsAtItsTarget has committed records in the changelogs behind the place that the last commit names: what they say of rows, and that rows
// are gone, is of a later checkpoint. A process that lost its state takes none of it, and neither does one that is killed before its first checkpoint
// and finds on its disk what it has restored.
func TestRestoreStopsAtItsTarget(t *testing.T) {
	w := half(t, counting())
	gone := 0
	for _, changelog := range w.changelogs() {
		for p := range int32(partitions) {
			rows, _, err := w.c.Records(changelog, p, 0)
			if err != nil {
				t.Fatal(err)
			}
			var behind []wire.Record
			seen := map[string]bool{}
			for _, r := range rows {
				if seen[string(r.Key)] {
					continue
				}
				seen[string(r.Key)] = true
				if gone++; gone%2 == 0 {
					r.Value = nil
				}
				behind = append(behind, r) // its first value once more
			}
			if _, err := w.c.Append(changelog, p, behind...); err != nil {
				t.Fatal(err)
			}
		}
	}
	if gone < keys {
		t.Fatalf("%d rows were written behind the targets", gone)
	}
	p := w.procs[0]
	p.through = func(l wire.Log) wire.Log { return wholeFetches{l} }
	p.disk.applied = nil
	for range 2 {
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		_ = p.conn.Close()
		p.recover(faults.ErrKilled)
		w.why = nil // the test killed it
	}
	w.finish(t)
}

// wholeFetches is a connection whose readers answer with all that there is, as one fetch of a broker does. Those of the memory cluster give what was
// written together, which no commit's place lies within.
type wholeFetches struct{ wire.Log }

// Read reads.
func (l wholeFetches) Read(ctx context.Context, at wire.TopicPartition, from int64, how wire.ReadOptions) (wire.Reader, error) {
	r, err := l.Log.Read(ctx, at, from, how)
	return wholeReader{r}, err
}

type wholeReader struct{ wire.Reader }

// Next joins batches.
func (r wholeReader) Next(ctx context.Context) (*wire.Batch, error) {
	first, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	all := []*wire.Batch{first}
	now, cancel := context.WithCancel(ctx)
	cancel()
	for {
		more, err := r.Reader.Next(now)
		if err != nil {
			break
		}
		all = append(all, more)
	}
	whole := *all[len(all)-1]
	whole.Records, whole.Bytes = nil, 0
	for _, b := range all {
		whole.Records = slices.Concat(whole.Records, b.Records)
		whole.Bytes += b.Bytes
	}
	whole.Free = func() {
		for _, b := range all {
			b.Release()
		}
	}
	return &whole, nil
}
