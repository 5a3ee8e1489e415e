package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/state/statetest"
)

func TestBackend(t *testing.T) { statetest.Run(t, New(CacheBytes(8<<20))) }
func TestReopen(t *testing.T)  { statetest.Reopen(t, New(CacheBytes(8<<20))) }

func TestCrashes(t *testing.T) {
	statetest.Crashes(t, func() statetest.Disk { return newDisk(vfs.NewCrashableMem()) })
}

// A disk is a file system in memory that knows what was synced.
type disk struct {
	mem    *vfs.MemFS
	fs     vfs.FS
	before atomic.Pointer[func()]
}

func newDisk(mem *vfs.MemFS) *disk {
	d := &disk{mem: mem}
	d.fs = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f := d.before.Load(); f != nil && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			(*f)()
		}
		return nil
	}))
	return d
}

func (d *disk) Backend() state.Backend { return &backend{fs: d.fs, cacheBytes: 1 << 20} }

func (d *disk) BeforeWrites(f func()) { d.before.Store(&f) }

func (d *disk) Crashed(seed uint64) statetest.Disk {
	left := []int{0, 50, 100}[seed%3]
	cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: left, RNG: rand.New(rand.NewPCG(seed, 5))}
	return newDisk(d.mem.CrashClone(cfg))
}

func open(t testing.TB, b state.Backend, dir string, s state.Settings) state.DB {
	t.Helper()
	db, err := state.Open(t.Context(), b, dir, s)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func fill(n int) *state.Batch {
	var b state.Batch
	for i := range n {
		b.Put(fmt.Appendf(nil, "key %06d", i), fmt.Appendf(nil, "value %d", i))
	}
	return &b
}

// TestFlippedByte: damage to a table is an error with a name, never a wrong value.
func TestFlippedByte(t *testing.T) {
	dir := t.TempDir()
	b := New(CacheBytes(1 << 20))
	db := open(t, b, dir, state.Settings{})
	if err := errors.Join(db.Apply(fill(20000), true), db.Close()); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
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
	db = open(t, b, dir, state.Settings{})
	defer db.Close()
	var first error
	for i := 0; i < 20000 && first == nil; i++ {
		_, first = db.Get(fmt.Appendf(nil, "key %06d", i), func(v []byte) error {
			if want := fmt.Sprintf("value %d", i); string(v) != want {
				t.Errorf("%q instead of %q", v, want)
			}
			return nil
		})
	}
	if !errors.Is(first, state.ErrCorrupt) {
		t.Errorf("reading a damaged table: %v", first)
	}
	if err := db.Apply(fill(1), false); !errors.Is(err, state.ErrCorrupt) {
		t.Errorf("writing after that: %v", err)
	}
}

// TestDiskFull: Apply ends with a name instead of waiting for ever, and what was durable is there later.
func TestDiskFull(t *testing.T) {
	for name, settings := range map[string]state.Settings{
		"unsynced": {MemoryBytes: 16 << 20}, "synced": {MemoryBytes: 16 << 20, Synced: true},
	} {
		t.Run(name, func(t *testing.T) {
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
			db := open(t, &backend{fs: fs}, "state", settings)
			if err := db.Apply(fill(100), true); err != nil {
				t.Fatal(err)
			}
			full.Store(true)
			var err error
			for i := 0; i < 1000 && err == nil; i++ {
				var b state.Batch
				b.Put(fmt.Append(nil, "more ", i), bytes.Repeat([]byte{1}, 100<<10))
				err = db.Apply(&b, settings.Synced)
			}
			if !errors.Is(err, state.ErrDiskFull) {
				t.Fatalf("Apply: %v", err)
			}
			if err := db.Close(); !errors.Is(err, state.ErrDiskFull) {
				t.Errorf("Close: %v", err)
			}
			db = open(t, &backend{fs: mem.CrashClone(vfs.CrashCloneCfg{})}, "state", settings)
			defer db.Close()
			for k, v := range fill(100).Ops() {
				found, err := db.Get(k, func(got []byte) error {
					if !bytes.Equal(got, v) {
						t.Errorf("%q = %q", k, got)
					}
					return nil
				})
				if !found || err != nil {
					t.Errorf("%q: %v, %v", k, found, err)
				}
			}
		})
	}
}

// TestDiskFullAnywhere lets the disk be full from every write on, one after the other. Whatever Pebble was doing, each call returns, an
// error has its name, and what was durable is there when the database is opened with space again.
func TestDiskFullAnywhere(t *testing.T) {
	for name, settings := range map[string]state.Settings{
		"unsynced": {MemoryBytes: 16 << 20}, "synced": {MemoryBytes: 16 << 20, Synced: true},
	} {
		t.Run(name, func(t *testing.T) {
			last := int64(0)
			for failed := true; failed; last++ {
				failed = fullFrom(t, settings, last)
			}
			if last < 50 {
				t.Errorf("only %d writes", last)
			}
			t.Logf("%d writes", last)
		})
	}
}

// fullFrom runs a program on a disk that is full from its nth write on, and reports whether that was noticed.
func fullFrom(t *testing.T, settings state.Settings, n int64) (failed bool) {
	mem := vfs.NewCrashableMem()
	var writes atomic.Int64
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpReuseForWrite, errorfs.OpLink, errorfs.OpMkdirAll:
			if writes.Add(1) > n {
				return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
			}
		}
		return nil
	}))
	durable, err := writeUntil(t, &backend{fs: fs, cacheBytes: 1 << 20}, settings)
	if err != nil && !errors.Is(err, state.ErrDiskFull) {
		t.Errorf("full from write %d on: %v", n, err)
	}
	db := open(t, &backend{fs: mem.CrashClone(vfs.CrashCloneCfg{}), cacheBytes: 1 << 20}, "state", settings)
	defer db.Close()
	for i := range durable {
		if found, err := db.Get(fmt.Append(nil, "batch ", i, " row 0"), func([]byte) error { return nil }); !found || err != nil {
			t.Errorf("full from write %d on: batch %d of %d is lost: %v", n, i, durable, err)
		}
	}
	return err != nil
}

// writeUntil writes batches and an ingest until an error, and says how many batches are durable.
func writeUntil(t *testing.T, b state.Backend, settings state.Settings) (durable int, err error) {
	db, err := state.Open(t.Context(), b, "state", settings)
	if err != nil {
		return 0, err
	}
	for i := range 12 {
		var batch state.Batch
		for r := range 40 {
			batch.Put(fmt.Append(nil, "batch ", i, " row ", r), bytes.Repeat([]byte{byte(r)}, 10<<10))
		}
		if err = db.Apply(&batch, i%3 == 2); err != nil {
			return durable, errors.Join(err, db.Close())
		}
		if i%3 == 2 {
			durable = i + 1
		}
		if i == 6 {
			rows := fill(1000)
			if err = db.(state.Ingester).Ingest(t.Context(), []byte("k"), []byte("l"), rows.Ops()); err != nil {
				return durable, errors.Join(err, db.Close())
			}
		}
	}
	return durable, db.Close()
}

// TestDiskFullInIngest: a restore that finds no space leaves the range as it was, and the database goes on.
func TestDiskFullInIngest(t *testing.T) {
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, "ingest") {
			return &os.PathError{Op: "write", Path: op.Path, Err: syscall.ENOSPC}
		}
		return nil
	}))
	db := open(t, &backend{fs: fs}, "state", state.Settings{})
	defer db.Close()
	if err := db.Apply(fill(10), false); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	rows := fill(1000)
	in := db.(state.Ingester)
	if err := in.Ingest(t.Context(), []byte("k"), []byte("l"), rows.Ops()); !errors.Is(err, state.ErrDiskFull) {
		t.Errorf("Ingest: %v", err)
	}
	full.Store(false)
	if found, err := db.Get([]byte("key 000500"), nil); found || err != nil {
		t.Errorf("a row of the failed ingest: %v, %v", found, err)
	}
	if left, err := fs.List("state/ingest"); err != nil || len(left) != 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	if err := in.Ingest(t.Context(), []byte("k"), []byte("l"), rows.Ops()); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if found, err := db.Get([]byte("key 000500"), func([]byte) error { return nil }); !found || err != nil {
		t.Errorf("after that: %v, %v", found, err)
	}
}

func TestOpenTwice(t *testing.T) {
	dir := t.TempDir()
	db := open(t, New(), dir, state.Settings{})
	defer db.Close()
	if again, err := New().Open(t.Context(), dir); err == nil {
		again.Close()
		t.Error("the same directory was opened twice")
	}
}

// TestUnfinishedIngest: what a crash in the middle of an Ingest leaves is removed.
func TestUnfinishedIngest(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "ingest", "1.sst")
	if err := os.MkdirAll(filepath.Dir(left), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("half a table"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, New(), dir, state.Settings{})
	defer db.Close()
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestStats(t *testing.T) {
	db := open(t, New(), t.TempDir(), state.Settings{})
	defer db.Close()
	if err := db.Apply(fill(50000), true); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if _, err := db.Get(fmt.Appendf(nil, "key %06d", i), func([]byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	s := db.(state.Reporter).Stats()
	if s.DiskBytes < 100<<10 || s.CacheHits == 0 || s.CacheBytes == 0 || s.WriteBytes == 0 || s.Stalled {
		t.Errorf("%+v", s)
	}
}
