package pebblestore

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/state"
)

// A db is a state.DB, a state.Ingester and a state.Reporter.
type db struct {
	pebble *pebble.DB
	tables *pebble.Options
	fs     vfs.FS
	dir    string
	lookup pebble.IterOptions // of Get, never changed
	synced bool               // there is a write-ahead log
	health *health
	ingest atomic.Uint64 // numbers the tables of Ingest
	stuck  atomic.Bool   // a write was left waiting inside Pebble
}

// Get looks a key up as a scan of one prefix: Pebble's own Get does not ask the filters of the lowest level, where nearly all rows
// lie. That makes a key that is not there five times as cheap when its block is not in memory, and one that is there 4 to 25 %
// dearer.
func (d *db) Get(key []byte, use func(value []byte) error) (bool, error) {
	if err := d.health.err(); err != nil {
		return false, err
	}
	it, err := d.pebble.NewIter(&d.lookup)
	if err != nil {
		return false, named(err)
	}
	if !it.SeekPrefixGE(key) || !bytes.Equal(it.Key(), key) {
		return false, named(it.Close())
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return false, errors.Join(named(err), it.Close())
	}
	err = use(value)
	return true, errors.Join(err, named(it.Close()))
}

func (d *db) Scan(from, to []byte, use func(key, value []byte) bool) error {
	if err := d.health.err(); err != nil {
		return err
	}
	if len(from) == 0 {
		from = nil // an empty bound is none; Pebble's checks under the race detector do not expect it
	}
	it, err := d.pebble.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return named(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(named(err), it.Close())
		}
		if !use(it.Key(), value) {
			break
		}
	}
	return named(it.Close())
}

// Apply writes the batch. It waits while the disk does not keep up.
func (d *db) Apply(b *state.Batch, sync bool) error {
	batch := d.pebble.NewBatchWithSize(b.Bytes() + b.Bytes()/8 + 64)
	for from, to := range b.DeletedRanges() {
		if err := batch.DeleteRange(from, to, nil); err != nil {
			return errors.Join(named(err), batch.Close())
		}
	}
	for k, v := range b.Ops() {
		var err error
		if v == nil {
			err = batch.Delete(k, nil)
		} else {
			err = batch.Set(k, v, nil)
		}
		if err != nil {
			return errors.Join(named(err), batch.Close())
		}
	}
	return d.write(func() error {
		opts := pebble.NoSync
		if sync && d.synced {
			opts = pebble.Sync
		}
		if err := errors.Join(d.pebble.Apply(batch, opts), batch.Close()); err != nil {
			return err
		}
		if sync && !d.synced {
			return d.pebble.Flush()
		}
		return nil
	})
}

// write runs a write, and leaves it behind when the disk fails: Pebble would try again for ever.
func (d *db) write(do func() error) error {
	if err := d.health.err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return named(err)
	case <-d.health.failed:
		d.stuck.Store(true)
		return d.health.err()
	}
}

// Close makes everything durable. After some failures it can only leave the database to the end of the process.
func (d *db) Close() error {
	var err error
	if !d.synced {
		err = d.write(d.pebble.Flush) // there is no log to read the last batches back from
	}
	if d.stuck.Load() || d.health.parked.Load() {
		return d.health.err()
	}
	if failure := d.health.err(); failure != nil { // damage: it can still be closed
		return errors.Join(failure, named(d.pebble.Close()))
	}
	err = errors.Join(err, d.write(d.pebble.Close))
	d.health.close(state.ErrClosed)
	return err
}

func (d *db) Stats() state.Stats {
	if d.health.err() != nil {
		return state.Stats{} // Pebble's own lock may be held for ever
	}
	m := d.pebble.Metrics()
	s := d.health.stalls()
	s.DiskBytes = int64(m.DiskSpaceUsage())
	s.CacheBytes = m.BlockCache.Size
	s.CacheHits, s.CacheMisses = m.BlockCache.Hits, m.BlockCache.Misses
	s.WriteBytes = int64(m.MemTable.Size)
	return s
}
