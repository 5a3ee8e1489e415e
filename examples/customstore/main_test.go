package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/state/statetest"
)

func TestStore(t *testing.T)  { statetest.Run(t, Sorted{}) }
func TestReopen(t *testing.T) { statetest.Reopen(t, Sorted{}) }

// TestTornLog: a batch that a crash cut short is not there, and those before it are.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	for _, k := range []string{"first", "second"} {
		db, err := Sorted{}.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var b state.Batch
		b.Put([]byte(k), []byte("v"))
		if err := db.Apply(&b, true); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "log")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-1); err != nil {
		t.Fatal(err)
	}
	db, err := Sorted{}.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for k, want := range map[string]bool{"first": true, "second": false} {
		if found, err := db.Get([]byte(k), func([]byte) error { return nil }); found != want || err != nil {
			t.Errorf("%s: %v, %v", k, found, err)
		}
	}
}

// TestGoesOn: the app's second life knows the maximum of the first.
func TestGoesOn(t *testing.T) {
	dir, out := t.TempDir(), memory.Collect[string, int64]("max")
	for _, n := range []int{30, 33} {
		if err := run(t.Context(), dir, out, readings(n)); err != nil {
			t.Fatal(err)
		}
	}
	got, want := map[string]int64{}, map[string]int64{}
	for _, r := range out.Records() {
		got[r.Key] = r.Value
	}
	for r := range readings(33) {
		want[r.Key] = max(want[r.Key], r.Value)
	}
	for k := range want {
		if got[k] != want[k] {
			t.Errorf("%s: %d, want %d", k, got[k], want[k])
		}
	}
}
