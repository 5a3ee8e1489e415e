// Package overlay keeps the state of one task and one store as decoded values above a database of committed bytes.
//
// A write changes an entry in memory and marks it dirty. At a checkpoint [Store.Freeze] encodes what is dirty into a
// [Delta], and processing goes on above it. When that checkpoint is committed the engine writes the delta to the database
// and calls [Store.Applied]; until then its entries stay here, because the database does not have them yet. Clean
// entries are a cache: they stay as long as the limit allows and may vanish at any call that names another key.
// So a hot key costs one hash lookup per record and one encoding per checkpoint.
//
// A Store belongs to its task's goroutine. Only a Delta may be read by others. Keys are encoded keys without the store's
// prefix; a method that takes one does not keep it.
//
// What an operator may do with a value follows from who owns it: [Entry.Value] is the store's own, to be changed only if
// [Store.Set] follows; what [Store.Lookup], [Store.Give], [Store.Range] and [Store.Changes] return belongs to the caller.
package overlay

import (
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/weirstream/weir/internal/keytree"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

// A Config describes a store.
type Config[V any] struct {
	Name   string   // for errors
	DB     state.DB // what is committed
	Prefix []byte   // of the store's rows in DB, see keys.Rows. Not empty, not 0xff alone
	Serde  serde.Serde[V]

	// Plain says that a V and its copy have nothing in common, see PlainType. Values that are not plain are copied by
	// Clone, or when it is nil through their encoded form.
	Plain bool
	Clone func(V) V

	KeepOld       bool           // keep the value before a checkpoint's first change, for Changes
	LimitBytes    int            // for entries, keys and deltas together; clean entries go when it is passed. 0: 64 MiB
	MaxValueBytes int            // a longer encoded value fails Freeze. 0: 1 GiB
	Size          func(V) int    // memory behind a value, beside its own size. Default: the method Size of Serde, else the length of strings and byte slices, else of the last encoding
	Behind        func(V) uint32 // see the method
	// Changes is counted up whenever a row may be about to change. Default: nobody looks.
	Changes *int64
}

const (
	defaultLimitBytes = 64 << 20
	defaultMaxValue   = 1 << 30
	guessedBytes      = 128 // for a value with pointers that was never encoded
)

// A Store is the overlay of one store of one task.
type Store[V any] struct {
	cfg     Config[V]
	limit   int
	measure bool // values have memory behind them
	seed    maphash.Seed
	index   index
	entries entries[V]
	arena   arena

	dirty  []change // in the order of their first change
	olds   []V      // what they were, with Config.KeepOld
	saved  saved[V] // the old value of the entry that was asked for last
	frozen []*Delta // waiting for their commit, oldest first
	seq    uint32   // of the last Freeze
	done   uint32   // of the last one applied
	spare  [][]byte // chunks of deltas that were applied

	order   *keytree.Tree // uncommitted keys in order, once somebody wanted a range
	unorder []uint32      // entries that are still missing in it
	groups  groups        // instead of order
	scans   []*scan[V]    // ranges that are being read
	idle    *scan[V]      // one that was
	epoch   int           // rises when entries become clean: open ranges end there

	hand   uint32 // of the clock that finds entries to forget
	vain   int    // steps of Trim since one was found
	futile int    // the epoch from 1 in which there is none
	bytes  struct{ resident, dirty, waiting, frozen int }
	stats  Stats

	fetching fetching
	loading  *Entry[V] // what load fills
	loadRow  func(row []byte) error
	dbKey    []byte // Prefix and room for a key
	buf      []byte // for copies through the encoded form
}

// A change is a dirty entry and whether it had a value before.
type change struct {
	id  uint32
	had had
}

// had says whether an entry had a value before its first change.
type had uint8

const (
	hadUnknown had = iota // it was overwritten without being read
	hadNone
	hadValue
)

type saved[V any] struct {
	entry *Entry[V]
	value V
}

// New returns an empty overlay above cfg.DB.
func New[V any](cfg Config[V]) *Store[V] {
	if cfg.LimitBytes == 0 {
		cfg.LimitBytes = defaultLimitBytes
	}
	if cfg.MaxValueBytes == 0 {
		cfg.MaxValueBytes = defaultMaxValue
	}
	if cfg.Changes == nil {
		cfg.Changes = new(int64)
	}
	s := &Store[V]{cfg: cfg, limit: cfg.LimitBytes, seed: maphash.MakeSeed(), dbKey: append([]byte(nil), cfg.Prefix...)}
	s.measure = hasPointers[V]()
	if sizer, ok := cfg.Serde.(interface{ Size(V) int }); ok && cfg.Size == nil {
		s.cfg.Size = sizer.Size
	}
	if s.cfg.Size == nil {
		s.cfg.Size = sizeOf[V]()
	}
	s.loadRow = s.load
	s.index.init()
	return s
}

// Entry returns the entry of key, read from the database where need be, to be looked at and changed by Set or Remove.
// It is valid until the next call that names a key. A value that is not plain is the store's own again.
func (s *Store[V]) Entry(key []byte) *Entry[V] {
	*s.cfg.Changes++
	e := s.access(key)
	if e.flags&given != 0 {
		s.takeBack(e)
	}
	if !s.cfg.Plain {
		s.beforeChange(e)
	}
	return e
}

// beforeChange copies what an accumulator that is changed in place would take away from Changes and open ranges.
func (s *Store[V]) beforeChange(e *Entry[V]) {
	if len(s.scans) > 0 {
		s.keepForScans(e)
	}
	if s.cfg.KeepOld && e.dirty == 0 && e.Found() {
		s.saved = saved[V]{e, s.copy(e.Value)}
	}
}

// Get returns the value of key, which remains the store's: it is not kept and not changed.
func (s *Store[V]) Get(key []byte) (v V, ok bool) {
	e := s.access(key)
	if e.flags&given != 0 {
		s.takeBack(e)
	}
	return e.Value, e.Found()
}

// Lookup returns the value of key, which is the caller's.
func (s *Store[V]) Lookup(key []byte) (v V, ok bool) {
	e := s.access(key)
	return s.Give(e), e.Found()
}

// access returns the entry of key, read from the database where need be.
func (s *Store[V]) access(key []byte) *Entry[V] {
	e := s.find(key)
	if e == nil {
		return s.read(key) // not yet used: what is asked for once goes first
	}
	e.flags |= used
	return e
}

// Set makes v the value of the entry. v is the store's from now on.
func (s *Store[V]) Set(e *Entry[V], v V) {
	if e.dirty == 0 || len(s.scans) > 0 {
		s.touch(e)
	}
	if e.flags&given != 0 {
		s.dropEncoded(e)
	}
	e.Value = v
	e.flags |= found
	if s.measure {
		s.resize(e, s.sizeAfterSet(e, v))
	}
}

// Remove deletes the entry's key.
func (s *Store[V]) Remove(e *Entry[V]) {
	if e.dirty == 0 || len(s.scans) > 0 {
		s.touch(e)
	}
	if e.flags&given != 0 {
		s.dropEncoded(e)
	}
	var none V
	e.Value = none
	e.flags &^= found
	if s.measure {
		s.resize(e, 0)
	}
}

// Put sets the value of key. It reads nothing unless old values are wanted.
func (s *Store[V]) Put(key []byte, v V) { s.Set(s.blind(key), v) }

// Delete deletes key.
func (s *Store[V]) Delete(key []byte) { s.Remove(s.blind(key)) }

// blind returns the entry of key to be overwritten. A new one has not been read from the database.
func (s *Store[V]) blind(key []byte) *Entry[V] {
	*s.cfg.Changes++
	e := s.find(key)
	switch {
	case e != nil:
		e.flags |= used
		return e
	case s.cfg.KeepOld || s.awaited(key):
		return s.read(key)
	}
	e = s.insert(key)
	e.flags |= unread
	return e
}

// touch puts a clean entry on the list of changes.
func (s *Store[V]) touch(e *Entry[V]) {
	if len(s.scans) > 0 {
		s.keepForScans(e)
	}
	if e.dirty != 0 {
		return
	}
	c := change{id: e.id, had: hadNone}
	var old V
	switch {
	case e.flags&unread != 0:
		c.had = hadUnknown
		e.flags &^= unread
	case e.Found():
		c.had = hadValue
		if s.cfg.KeepOld {
			old = s.oldValue(e)
		}
	}
	s.dirty = push(s.dirty, c)
	if s.cfg.KeepOld {
		s.olds = push(s.olds, old)
	}
	s.waits(e, -s.weight(e))
	e.dirty = uint32(len(s.dirty))
	s.bytes.dirty += s.weight(e)
	if e.flags&ordered != 0 {
		return
	}
	if s.grouped() {
		s.enlist(e)
	} else if s.order != nil {
		e.flags |= ordered
		s.unorder = append(s.unorder, e.id)
	}
}

// push appends to a list that may become long: append's quarter would copy it five times where this does twice.
func push[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(16, len(list)))
	}
	return append(list, v)
}

func (s *Store[V]) oldValue(e *Entry[V]) V {
	if s.saved.entry == e {
		old := s.saved.value
		s.saved = saved[V]{}
		return old
	}
	if e.flags&given != 0 {
		return s.decode(e.key(&s.arena), s.encoded(e))
	}
	return e.Value // about to be replaced, so nobody else has it
}

// A Fault is the panic of a Store whose database or serde failed: reads and writes of state have no error result.
// The engine recovers it around a batch and stops the task; it is never a record's fault.
type Fault struct {
	Store string
	Err   error
}

// Error says which store failed and why.
func (f *Fault) Error() string { return fmt.Sprintf("store %q: %v", f.Store, f.Err) }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

func (s *Store[V]) fail(format string, args ...any) {
	panic(&Fault{s.cfg.Name, fmt.Errorf(format, args...)})
}
