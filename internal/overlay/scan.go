package overlay

import (
	"bytes"
	"iter"
	"slices"

	"github.com/weirstream/weir/internal/keytree"
	"github.com/weirstream/weir/internal/overlay/keys"
)

// Range iterates over the keys in [from, to) in order, a nil to meaning all from there on, as the store is when the iteration
// begins; it may be changed meanwhile. Keys are valid until the next pair, values are the receiver's. An iteration that
// is kept open over Applied or Drop panics.
//
// It merges two cursors that read in portions: one over the uncommitted keys, one over the database. No snapshot of
// the database is needed: what is applied to it meanwhile is still pinned here, and what is here wins. A change that
// is made while the iteration runs first leaves what was there with it (keepForScans).
func (s *Store[V]) Range(from, to []byte) iter.Seq2[[]byte, V] {
	return func(yield func([]byte, V) bool) {
		sc := s.open(from, to)
		defer s.close(sc)
		for s.next(sc) {
			v, ok := s.valueIn(sc)
			if !ok {
				continue
			}
			if !yield(sc.key, v) {
				return
			}
			if s.epoch != sc.epoch {
				panic("overlay: a range of store " + s.cfg.Name + " was kept open across a checkpoint")
			}
		}
	}
}

// Keys iterates over the keys that begin with prefix, in order, as they are when the iteration begins. It reads no values, and does not
// hand any out: the store may be asked for each and changed meanwhile; of a grouped store, at the key at hand.
func (s *Store[V]) Keys(prefix []byte) iter.Seq[[]byte] {
	if s.grouped() && len(prefix) == s.groups.size {
		return s.keysOfGroup(prefix)
	}
	return func(yield func([]byte) bool) {
		sc := s.open(prefix, s.endOf(prefix))
		defer s.close(sc)
		for s.next(sc) {
			if s.hasIn(sc) && !yield(sc.key) {
				return
			}
			if s.epoch != sc.epoch {
				panic("overlay: keys of store " + s.cfg.Name + " were read across a checkpoint")
			}
		}
	}
}

// endOf is the end of what begins with prefix; nil: the store's.
func (s *Store[V]) endOf(prefix []byte) []byte {
	if len(prefix) == 0 {
		return nil
	}
	end := keys.End(append(bytes.Clone(s.cfg.Prefix), prefix...))
	if !bytes.HasPrefix(end, s.cfg.Prefix) {
		return nil
	}
	return end[len(s.cfg.Prefix):]
}

// Prefix iterates as Range does over the keys that begin with prefix.
func (s *Store[V]) Prefix(prefix []byte) iter.Seq2[[]byte, V] {
	return s.Range(prefix, s.endOf(prefix))
}

// A scan is a range that is being read.
type scan[V any] struct {
	epoch  int
	to     []byte // without prefix; nil: no end
	key    []byte // at hand, without prefix
	row    []byte // of the database, where inDB
	inDB   bool
	inMem  bool   // the key at hand is in order: perhaps pinned, perhaps clean by now
	uncom  cursor // of order
	rows   cursor // of the database
	before map[string]before[V]
}

// A before is what a key had when the scan began.
type before[V any] struct {
	value V
	found bool
}

func (s *Store[V]) open(from, to []byte) *scan[V] {
	s.sortKeys()
	sc := s.idle
	if s.idle = nil; sc == nil {
		sc = &scan[V]{}
	}
	p := s.cfg.Prefix
	end := keys.End(p)
	if to != nil {
		end = append(bytes.Clone(p), to...)
	}
	sc.epoch, sc.to, sc.key, sc.before = s.epoch, to, nil, nil
	sc.rows.open(append(bytes.Clone(p), from...), end)
	sc.uncom.open(from, to)
	s.scans = append(s.scans, sc)
	return sc
}

// close ends a range. One is kept for the next: its buffers cost more than a short range does.
func (s *Store[V]) close(sc *scan[V]) {
	s.scans = slices.DeleteFunc(s.scans, func(o *scan[V]) bool { return o == sc })
	if sc.rows.small() && sc.uncom.small() {
		s.idle = sc
	}
	if s.grouped() && len(s.scans) == 0 {
		s.order = nil // it is not kept up
	}
}

// next steps to the next key of either cursor.
func (s *Store[V]) next(sc *scan[V]) bool {
	u, inOrder := sc.uncom.peek(s.scanOrder)
	r, inDB := sc.rows.peek(s.cfg.DB.Scan)
	if sc.rows.err != nil {
		s.fail("reading a range: %w", sc.rows.err)
	}
	if !inOrder && !inDB {
		return false
	}
	order := 0
	switch {
	case !inOrder:
		order = 1
	case !inDB:
		order = -1
	default:
		order = bytes.Compare(u.key, r.key[len(s.cfg.Prefix):])
	}
	if sc.inMem = order <= 0; sc.inMem {
		sc.key = u.key
		sc.uncom.at++
	}
	if sc.inDB = order >= 0; sc.inDB {
		sc.key, sc.row = r.key[len(s.cfg.Prefix):], r.value
		sc.rows.at++
	}
	return true
}

func (s *Store[V]) scanOrder(from, to []byte, use func(key, value []byte) bool) error {
	s.order.Scan(from, to, use)
	return nil
}

// valueIn returns the value that the key at hand had when the scan began.
func (s *Store[V]) valueIn(sc *scan[V]) (v V, ok bool) {
	if b, ok := sc.before[string(sc.key)]; ok {
		return b.value, b.found
	}
	if !sc.inMem { // what is pinned is in order, or was changed later and has left what it was
		return s.decode(sc.key, sc.row), true
	}
	e := s.find(sc.key)
	switch {
	case e != nil && s.pinned(e):
		return s.Give(e), e.Found()
	case sc.inDB:
		return s.decode(sc.key, sc.row), true
	case e != nil && e.flags&ordered != 0 && !s.grouped(): // deleted, and the database knows: later ranges need not step over it
		s.order.Delete(sc.key)
		e.flags &^= ordered
	}
	return v, false
}

// hasIn reports whether the key at hand had a value when the scan began.
func (s *Store[V]) hasIn(sc *scan[V]) bool {
	if b, ok := sc.before[string(sc.key)]; ok {
		return b.found
	}
	if sc.inMem {
		if e := s.find(sc.key); e != nil && s.pinned(e) {
			return e.Found()
		}
	}
	return sc.inDB
}

// ahead reports whether the range will still come to key.
func (sc *scan[V]) ahead(key []byte) bool {
	return (sc.key == nil || bytes.Compare(key, sc.key) > 0) && (sc.to == nil || bytes.Compare(key, sc.to) < 0)
}

// awaited reports whether some open range will still come to key, so that what it has now must be known.
func (s *Store[V]) awaited(key []byte) bool {
	return slices.ContainsFunc(s.scans, func(sc *scan[V]) bool { return sc.ahead(key) })
}

// keepForScans leaves with open ranges what an entry has before it is changed.
func (s *Store[V]) keepForScans(e *Entry[V]) {
	key := e.key(&s.arena)
	for _, sc := range s.scans {
		if !sc.ahead(key) {
			continue
		}
		if _, ok := sc.before[string(key)]; ok {
			continue
		}
		b := before[V]{found: e.Found()}
		switch {
		case e.flags&given != 0:
			b.value = s.decode(key, s.encoded(e))
		case b.found:
			b.value = s.copy(e.Value)
		}
		if sc.before == nil {
			sc.before = map[string]before[V]{}
		}
		sc.before[string(key)] = b
	}
}

// sortKeys brings order up to date. Stores that nobody ranges over never pay for it.
func (s *Store[V]) sortKeys() {
	if s.order == nil {
		s.order = keytree.New()
		for id := range s.entries.n {
			if e := s.entries.at(id); s.pinned(e) {
				if !s.grouped() {
					e.flags |= ordered
				}
				s.order.Put(e.key(&s.arena), nil)
			}
		}
		return
	}
	for _, id := range s.unorder {
		if e := s.entries.at(id); e.flags&ordered != 0 { // else it was forgotten, and perhaps its place taken
			s.order.Put(e.key(&s.arena), nil)
		}
	}
	s.unorder = s.unorder[:0]
}
