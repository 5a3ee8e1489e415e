package pebblestore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
)

// countUnder counts three visits of a key in a store of a name, without a cluster, and returns the last count.
func countUnder(t *testing.T, store, dir string, out *memory.Collector[string, int64], drop ...string) (int64, error) {
	t.Helper()
	b := stream.New("visits")
	in := memory.From("in", func(yield func(stream.Record[string, int64]) bool) {
		for i := range int64(3) {
			if !yield(stream.Record[string, int64]{Key: "k", Time: time.UnixMilli(i)}) {
				return
			}
		}
	})
	b.Source(in).GroupByKey().Count(stream.Named(store)).ToStream().To(out)
	app, err := b.Build(stream.Config{State: New(), StateDir: dir, CheckpointInterval: time.Millisecond, DropState: drop})
	if err != nil {
		t.Fatal(err)
	}
	err = app.Run(context.Background())
	last := int64(0)
	for _, r := range out.Records() {
		last = r.Value
	}
	return last, err
}

// TestAppStoreIsRenamed: without a cluster the database alone knows what its stores are called. A store under another name would begin empty; it is
// refused with both names until the old state is given up, and then that is gone from the disk.
func TestAppStoreIsRenamed(t *testing.T) {
	dir, out := t.TempDir(), counts()
	if n, err := countUnder(t, "visits", dir, out); n != 3 || err != nil {
		t.Fatalf("first: %d, %v", n, err)
	}
	_, err := countUnder(t, "hits", dir, out)
	if !errors.Is(err, stream.ErrTopology) {
		t.Fatalf("renamed: %v", err)
	}
	for _, word := range []string{"visits,", "new hits", "DropState"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("renamed: %q says nothing of %q", err, word)
		}
	}
	if _, err := countUnder(t, "hits", dir, out, "visits"); err != nil {
		t.Fatalf("given up: %v", err)
	}
	if _, err := countUnder(t, "hits", dir, out); err != nil {
		t.Errorf("given up once: %v", err)
	}
	if _, err := countUnder(t, "visits", dir, out); !errors.Is(err, stream.ErrTopology) || !strings.Contains(err.Error(), "not: hits,") {
		t.Errorf("back to the first name: %v", err)
	}
}
