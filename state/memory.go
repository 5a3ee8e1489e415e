package state

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/weirstream/weir/internal/keytree"
)

// InMemory keeps state in memory: after a restart changelogs rebuild it, and without changelogs it is gone.
// Each Open makes a new, empty database.
func InMemory() Backend { return inMemory{} }

type inMemory struct{}

func (inMemory) Open(context.Context, string) (DB, error) {
	db := &memory{}
	db.rows.Store(keytree.New())
	return db, nil
}

// A memory publishes one version of the rows after the other. Readers take the newest and hold no lock, so that a
// large batch never stops a task that reads.
type memory struct {
	rows  atomic.Pointer[keytree.Tree] // nil when closed
	write sync.Mutex
}

func (m *memory) Get(key []byte, use func(value []byte) error) (bool, error) {
	rows := m.rows.Load()
	if rows == nil {
		return false, ErrClosed
	}
	v, ok := rows.Get(key)
	if !ok {
		return false, nil
	}
	return true, use(v)
}

func (m *memory) Scan(from, to []byte, use func(key, value []byte) bool) error {
	rows := m.rows.Load()
	if rows == nil {
		return ErrClosed
	}
	rows.Scan(from, to, use)
	return nil
}

// applyAtOnce is how many changes are sorted and made together: the more, the fewer nodes are made anew for each, and the more memory
// it takes meanwhile, some 100 bytes each beside keys and values.
const applyAtOnce = 1 << 18

func (m *memory) Apply(b *Batch, _ bool) error {
	m.write.Lock()
	defer m.write.Unlock()
	old := m.rows.Load()
	if old == nil {
		return ErrClosed
	}
	// A version that is published is never edited again, so readers need no lock.
	next := old.Clone()
	for from, to := range b.DeletedRanges() {
		next.DeleteRange(from, to)
	}
	changes := make([]keytree.Change, 0, min(len(b.ops)+b.bytes/64, applyAtOnce))
	for k, v := range b.Ops() {
		if changes = append(changes, keytree.Change{Key: k, Value: v}); len(changes) == applyAtOnce {
			next.Apply(changes)
			changes = changes[:0]
		}
	}
	next.Apply(changes)
	m.rows.Store(next)
	return nil
}

// Ingest takes the rows into a batch first: they may come slowly, and Apply must not wait for them.
func (m *memory) Ingest(ctx context.Context, from, to []byte, sorted iter.Seq2[[]byte, []byte]) error {
	var b Batch
	if to != nil {
		b.DeleteRange(from, to)
	}
	n := 0
	for k, v := range sorted {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			break
		}
		if v == nil {
			b.Delete(k)
		} else {
			b.Put(k, v)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.Apply(&b, false)
}

func (m *memory) Close() error {
	m.write.Lock()
	defer m.write.Unlock()
	if m.rows.Swap(nil) == nil {
		return ErrClosed
	}
	return nil
}
