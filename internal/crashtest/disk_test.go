package crashtest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/weirstream/weir/state"
)

// A disk is a state.Backend that outlives processes, and when one is killed keeps what such a backend promises and no more: what was
// synced, and of what came later the oldest part.
type disk struct {
	rand    *rand.Rand
	mu      sync.Mutex // of what follows: on a broker a process that was killed may still be at it
	applied []applied
}

// heir is the disk as the next process finds it: what one that was killed writes from now on, nobody reads.
func (d *disk) heir(killed bool) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := &disk{rand: d.rand, applied: slices.Clone(d.applied)}
	if killed {
		next.killed()
	}
	return next
}

// applied is a copy of a batch.
type applied struct {
	batch  state.Batch
	synced bool
}

// Open opens what the disk has.
func (d *disk) Open(ctx context.Context, dir string) (state.DB, error) {
	db, err := state.InMemory().Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	for i := range d.applied {
		if err := db.Apply(&d.applied[i].batch, false); err != nil {
			return nil, err
		}
	}
	return &diskDB{db, d}, nil
}

// killed forgets some of the last batches that were not synced.
func (d *disk) killed() {
	safe := len(d.applied)
	for safe > 0 && !d.applied[safe-1].synced {
		safe--
	}
	d.applied = d.applied[:safe+d.rand.IntN(len(d.applied)-safe+1)]
}

type diskDB struct {
	state.DB
	d *disk
}

// Apply keeps a copy.
func (db *diskDB) Apply(b *state.Batch, sync bool) error {
	var kept state.Batch
	for from, to := range b.DeletedRanges() {
		kept.DeleteRange(bytes.Clone(from), bytes.Clone(to))
	}
	for k, v := range b.Ops() {
		if v == nil {
			kept.Delete(k)
		} else {
			kept.Put(k, v)
		}
	}
	db.d.mu.Lock()
	db.d.applied = append(db.d.applied, applied{kept, sync})
	db.d.mu.Unlock()
	return db.DB.Apply(b, sync)
}
