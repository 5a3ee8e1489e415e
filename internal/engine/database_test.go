package engine

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"testing"

	"github.com/weirstream/weir/state"
)

// A countingIngester counts what goes in by tables.
type countingIngester struct {
	state.Ingester
	ingests int
}

func (c *countingIngester) Ingest(ctx context.Context, from, to []byte, sorted iter.Seq2[[]byte, []byte]) error {
	c.ingests++
	return c.Ingester.Ingest(ctx, from, to, sorted)
}

// TestLoad: a run of a changelog gives the same rows by tables and by a batch, and only large runs become tables.
func TestLoad(t *testing.T) {
	for _, c := range []struct {
		name          string
		rows, ingests int
		bulk          bool
	}{{"few", 100, 0, true}, {"many", 5000, 1, true}, {"many, no ingester", 5000, 0, false}} {
		t.Run(c.name, func(t *testing.T) {
			db, err := state.InMemory().Open(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			b := &base{db: &database{DB: db}}
			counting := &countingIngester{Ingester: db.(state.Ingester)}
			if c.bulk {
				b.bulk = counting
			}
			var old state.Batch
			old.Put([]byte("k00001"), []byte("old"))
			old.Put([]byte("other"), []byte("old"))
			if err := db.Apply(&old, false); err != nil {
				t.Fatal(err)
			}
			var run state.Run
			want := map[string]string{"other": "old"}
			for i := range c.rows {
				k, v := fmt.Sprintf("k%05d", i*7919%c.rows), fmt.Sprintf("%0300d", i)
				run.Put([]byte(k), []byte(v))
				want[k] = v
			}
			run.Delete([]byte("k00001"))
			delete(want, "k00001")
			if err := b.load(t.Context(), &run); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			if err := db.Scan(nil, bytes.Repeat([]byte{0xff}, 8), func(k, v []byte) bool { got[string(k)] = string(v); return true }); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
			if counting.ingests != c.ingests {
				t.Errorf("%d ingests, want %d", counting.ingests, c.ingests)
			}
		})
	}
}
