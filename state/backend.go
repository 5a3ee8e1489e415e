package state

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"
)

// A Backend keeps committed state. It never sees a write that was not committed.
// Use state/pebblestore for disks, [InMemory] for tests and for state that its changelog can rebuild.
type Backend interface {
	// Open opens the one database of an app under dir, which exists and is locked. A backend that keeps nothing
	// on disk gets an empty dir where the app has none.
	Open(ctx context.Context, dir string) (DB, error)
}

// A DB is an ordered map of bytes. Get and Scan may run while Apply does and see all of a batch or nothing of it;
// Apply is never called twice at once. Close is called once, after everything else has returned.
type DB interface {
	// Get calls use with the value, which is valid during the call only, or reports false. It returns use's error.
	Get(key []byte, use func(value []byte) error) (found bool, err error)
	// Scan calls use for each key in [from, to) in order until it returns false. The slices are valid during the call
	// only. What is applied meanwhile is not seen. use does not call the DB.
	Scan(from, to []byte, use func(key, value []byte) bool) error
	// Apply makes a whole batch visible and, with sync, durable before it returns: all of it or nothing.
	// Batches become durable in order: after a crash an unsynced batch is there only if all before it are.
	Apply(b *Batch, sync bool) error
	Close() error
}

// An Ingester is a DB that can take sorted data in bulk, replacing a range, all at once and durably. Restore uses it where it is there.
// It may become durable before batches that were applied earlier without sync; so it must carry everything that
// belongs to the range, positions included. Several may run at once, and beside Apply, for ranges that have nothing in common.
type Ingester interface {
	// Ingest replaces what is in [from, to) by sorted, whose keys rise and lie in the range. Its slices are valid until
	// the next pair. It returns ctx's error and leaves the range as it was when ctx ends first.
	//
	// With from and to nil it replaces nothing: sorted is put over what is there, a nil value deleting its key. Earlier batches
	// are then durable before it as far as they wrote keys between the first and the last of sorted.
	Ingest(ctx context.Context, from, to []byte, sorted iter.Seq2[[]byte, []byte]) error
}

// Errors of a backend, for errors.Is.
var (
	// ErrFormat: a store was written under another format than it is opened with.
	ErrFormat = errors.New("state: stored in another format")
	// ErrCorrupt: what is on disk is not what was written. The state can be rebuilt from its changelog
	// after the directory has been moved away.
	ErrCorrupt = errors.New("state: data on disk is corrupt")
	// ErrDiskFull: a write found no space. Nothing committed is lost; free some space and start again.
	ErrDiskFull = errors.New("state: disk is full")
	// ErrClosed: the database was used after Close.
	ErrClosed = errors.New("state: database is closed")
)

// Settings are what an app tells a backend that asks, see [Configurable].
type Settings struct {
	MemoryBytes int64 // of the whole app. A backend takes up to a quarter for its caches and a sixteenth for writes. 0: its own default
	// Synced says that batches will be applied with sync, as the local commit log does. Without it the backend may
	// do without a log of its own: it must then keep an older state after a crash, but need not keep the last.
	Synced bool
	Logger *slog.Logger // nil: none
}

// Configurable is a Backend that wants to know its app's settings. Open is then for use outside an app.
type Configurable interface {
	OpenWith(ctx context.Context, dir string, s Settings) (DB, error)
}

// Open opens b for an app, for the engine.
func Open(ctx context.Context, b Backend, dir string, s Settings) (DB, error) {
	if c, ok := b.(Configurable); ok {
		return c.OpenWith(ctx, dir, s)
	}
	return b.Open(ctx, dir)
}

// Stats are measurements of a backend. What it cannot tell is 0.
type Stats struct {
	DiskBytes   int64         // on disk, garbage included
	CacheBytes  int64         // of read caches
	WriteBytes  int64         // of writes held in memory
	CacheHits   int64         // since Open
	CacheMisses int64         // since Open
	Stalled     bool          // Apply waits now, because the disk does not keep up
	Stalls      int64         // times that it did, since Open
	StallTime   time.Duration // how long it did, since Open
}

// A Reporter is a DB that can be measured. Stats may be called at any time before Close.
type Reporter interface{ Stats() Stats }
