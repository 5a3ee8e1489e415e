package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// appKeys is how many keys the app below counts.
const appKeys = 5000

// visits yields rounds of every key once. seen is called before each record.
func visits(rounds int, seen func(n int)) iter.Seq[stream.Record[string, int64]] {
	return func(yield func(stream.Record[string, int64]) bool) {
		for i := range rounds * appKeys {
			seen(i)
			if !yield(stream.Record[string, int64]{Key: fmt.Sprintf("key %05d", i%appKeys), Time: time.UnixMilli(int64(i))}) {
				return
			}
		}
	}
}

// counts collects what an app emits over its lives: the sink is outside the app, as a real one is.
func counts() *memory.Collector[string, int64] { return memory.Collect[string, int64]("out") }

// count runs an app that counts visits by key, with its state in backend, and returns the last count of each key in out.
func count(t *testing.T, backend state.Backend, dir string, out *memory.Collector[string, int64], in iter.Seq[stream.Record[string, int64]]) (map[string]int64, error) {
	t.Helper()
	b := stream.New("visits")
	b.Source(memory.From("in", in)).GroupByKey().Count().ToStream().To(out)
	app, err := b.Build(stream.Config{State: backend, StateDir: dir, MemoryBytes: 8 << 20, CheckpointInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	err = app.Run(context.Background())
	last := map[string]int64{}
	for _, r := range out.Records() {
		last[r.Key] = r.Value
	}
	return last, err
}

// TestAppMeetsFullDisk: Run ends with the name of what happened, and with space again the app goes on from its last checkpoint.
func TestAppMeetsFullDisk(t *testing.T) {
	const rounds = 20
	mem := vfs.NewCrashableMem()
	var full atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpReuseForWrite:
			if full.Load() {
				return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
			}
		}
		return nil
	}))
	dir, out := t.TempDir(), counts()
	_, err := count(t, &backend{fs: fs}, dir, out, visits(rounds, func(n int) {
		if n == rounds*appKeys/2 {
			full.Store(true)
		}
	}))
	if !errors.Is(err, state.ErrDiskFull) {
		t.Fatalf("Run: %v", err)
	}
	last, err := count(t, &backend{fs: mem.CrashClone(vfs.CrashCloneCfg{})}, dir, out, visits(rounds, func(int) {}))
	if err != nil {
		t.Fatalf("with space again: %v", err)
	}
	for k, n := range last {
		if n != rounds {
			t.Fatalf("%s was counted %d times, want %d", k, n, rounds)
		}
	}
	if len(last) != appKeys {
		t.Errorf("%d keys, want %d", len(last), appKeys)
	}
}

// TestAppStartsOnAFullDisk has the disk full from every write of the first start on, one after the other: whatever was being written, the end of
// Run says that the disk is full.
func TestAppStartsOnAFullDisk(t *testing.T) {
	start := func(last int64) error {
		var writes atomic.Int64
		fs := errorfs.Wrap(vfs.NewCrashableMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			switch op.Kind {
			case errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpReuseForWrite, errorfs.OpMkdirAll:
				if writes.Add(1) > last {
					return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
				}
			}
			return nil
		}))
		c := &memory.Cluster{}
		b := stream.New("visits")
		b.Source(memory.From("in", visits(1, func(int) {}))).GroupByKey().Count().ToStream().To(counts())
		app, err := b.Build(stream.Config{Cluster: c, State: &backend{fs: fs}, StateDir: t.TempDir(), MemoryBytes: 8 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return app.Run(t.Context())
	}
	said := false
	for n := int64(0); ; n++ {
		err := start(n)
		if err == nil {
			t.Logf("it starts with %d writes", n)
			break
		}
		if !errors.Is(err, state.ErrDiskFull) {
			t.Errorf("full from write %d on: %v", n, err)
		}
		said = said || strings.Contains(err.Error(), "write the name of the state, which is new: state: disk is full")
	}
	if !said {
		t.Error("the name of the state could always be written")
	}
}

// TestAppMeetsDamage: a flipped byte in its state ends Run with a name; nothing is emitted that rests on it.
func TestAppMeetsDamage(t *testing.T) {
	dir, out := t.TempDir(), counts()
	if _, err := count(t, New(), dir, out, visits(1, func(int) {})); err != nil {
		t.Fatal(err)
	}
	// A second life moves what the log has into tables.
	db := open(t, New(), filepath.Join(dir, "visits", "db"), state.Settings{})
	if err := errors.Join(db.Apply(fill(1), true), db.Close()); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "visits", "db", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, name := range tables {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/3] ^= 1
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	last, err := count(t, New(), dir, out, visits(2, func(int) {}))
	if !errors.Is(err, state.ErrCorrupt) {
		t.Fatalf("Run: %v", err)
	}
	for k, n := range last {
		if n > 2 {
			t.Errorf("%s was counted %d times, of 2", k, n)
		}
	}
}

// TestAppDirInUse: a second app on the same directory is told so.
func TestAppDirInUse(t *testing.T) {
	dir := t.TempDir()
	var second error
	once := false
	if _, err := count(t, New(), dir, counts(), visits(1, func(int) {
		if !once {
			once = true
			_, second = count(t, New(), dir, counts(), visits(1, func(int) {}))
		}
	})); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(second, stream.ErrStateDir) {
		t.Errorf("the second app: %v", second)
	}
}

// TestAppDirNotWritable puts a file where the directory should be, which stops even root.
func TestAppDirNotWritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := count(t, New(), file, counts(), visits(1, func(int) {})); !errors.Is(err, stream.ErrStateDir) {
		t.Errorf("Run: %v", err)
	}
}
