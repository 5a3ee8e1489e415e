package overlay

import "iter"

// Give returns the entry's value to be handed out of the operator. It is the caller's: the store keeps a copy or,
// for values that are neither plain nor have a Clone, the encoded form, from which the next access decodes anew.
func (s *Store[V]) Give(e *Entry[V]) V {
	switch {
	case s.cfg.Plain || !e.Found():
		return e.Value
	case e.flags&given != 0:
		return s.decode(e.key(&s.arena), s.encoded(e))
	case s.cfg.Clone != nil:
		return s.cfg.Clone(e.Value)
	}
	s.buf = s.encodeFor(s.buf[:0], e)
	v := e.Value
	var none V
	e.Value = none
	e.encoded = s.arena.alloc(len(s.buf))
	e.flags |= given
	s.resize(e, len(s.buf))
	copy(s.encoded(e), s.buf)
	return v
}

func (s *Store[V]) encoded(e *Entry[V]) []byte { return s.arena.bytes(e.encoded, int(e.size)) }

// takeBack decodes an entry that was given away.
func (s *Store[V]) takeBack(e *Entry[V]) {
	e.Value = s.decode(e.key(&s.arena), s.encoded(e))
	s.dropEncoded(e)
	s.resize(e, s.sizeOfDecoded(e.Value, int(e.size)))
}

func (s *Store[V]) dropEncoded(e *Entry[V]) {
	s.arena.release(e.encoded, int(e.size))
	e.flags &^= given
}

// Copy returns a value that has nothing in common with v.
func (s *Store[V]) Copy(v V) V { return s.copy(v) }

// copy is described at Copy.
func (s *Store[V]) copy(v V) V {
	switch {
	case s.cfg.Plain:
		return v
	case s.cfg.Clone != nil:
		return s.cfg.Clone(v)
	}
	b, err := s.cfg.Serde.Append(s.buf[:0], v)
	if err != nil {
		s.fail("copying a value: %w", err)
	}
	s.buf = b
	return s.decode(nil, b)
}

func (s *Store[V]) encodeFor(dst []byte, e *Entry[V]) []byte {
	b, err := s.cfg.Serde.Append(dst, e.Value)
	if err != nil {
		s.fail("encoding the value of key %s: %w", quote(e.key(&s.arena)), err)
	}
	return b
}

func (s *Store[V]) decode(key, row []byte) V {
	v, err := s.cfg.Serde.Decode(row)
	if err != nil {
		s.fail("decoding the value of key %s: %w", quote(key), err)
	}
	return v
}

// A Saved is an entry as it was.
type Saved[V any] struct {
	entry      *Entry[V]
	value      V
	gen        uint16
	had, dirty bool
	lent       bool // nothing was copied
}

// Save copies an entry before user code may change its value, for Undo. It follows Entry. A value that is not plain is
// copied, so an operator saves only where a failure would not stop the task.
func (s *Store[V]) Save(e *Entry[V]) Saved[V] {
	sv := Saved[V]{entry: e, gen: e.gen, had: e.Found(), dirty: e.dirty != 0}
	if sv.had {
		sv.value = s.copy(e.Value)
	}
	return sv
}

// Undo puts a saved entry back. Several are undone in the reverse order of their saving.
func (s *Store[V]) Undo(sv Saved[V]) {
	e := sv.entry
	if e.gen != sv.gen || e.flags&live == 0 {
		return // it was clean and has been forgotten: the database has it
	}
	if e.flags&given != 0 {
		s.dropEncoded(e)
	}
	e.Value = sv.value
	e.flags &^= found
	if sv.had {
		e.flags |= found
	}
	if s.measure {
		s.resize(e, s.sizeAfterSet(e, sv.value))
	}
	if !sv.dirty && e.dirty != 0 && int(e.dirty) == len(s.dirty) {
		s.untouch(e)
	}
}

// Hold is Save for a value that need not be copied: unless copying says so, or it costs nothing, the value is read again by PutBack.
func (s *Store[V]) Hold(e *Entry[V], copying bool) Saved[V] {
	if copying || s.cfg.Plain || !e.Found() {
		return s.Save(e)
	}
	return Saved[V]{entry: e, gen: e.gen, lent: true}
}

// PutBack makes a held entry what it was. It reports false for one that was not copied and that the database does not have yet.
func (s *Store[V]) PutBack(sv Saved[V]) bool {
	switch {
	case sv.entry == nil: // it failed before anything was held
	case sv.lent:
		return s.TakeBack(Lent[V]{sv.entry, sv.gen})
	default:
		s.Undo(sv)
	}
	return true
}

// Lent is an entry whose value user code may have changed without Set.
type Lent[V any] struct {
	entry *Entry[V]
	gen   uint16
}

// Lend returns the entry of key, its value to be taken back if who uses it fails.
func (s *Store[V]) Lend(key []byte) (*Entry[V], Lent[V]) {
	e := s.access(key)
	if e.flags&given != 0 {
		s.takeBack(e)
	}
	return e, Lent[V]{e, e.gen}
}

// TakeBack makes a lent value what it was before: a clean one is read again from the database. It reports false for one that the database does not
// have yet.
func (s *Store[V]) TakeBack(l Lent[V]) bool {
	e := l.entry
	switch {
	case e.gen != l.gen || e.flags&live == 0: // forgotten, and read again by whoever wanted it
	case s.pinned(e):
		return false
	default:
		s.forget(e)
	}
	return true
}

// untouch takes the last change off the list.
func (s *Store[V]) untouch(e *Entry[V]) {
	last := len(s.dirty) - 1
	s.dirty = s.dirty[:last]
	if s.cfg.KeepOld {
		clear(s.olds[last:])
		s.olds = s.olds[:last]
	}
	s.bytes.dirty -= s.weight(e)
	e.dirty = 0
	s.waits(e, s.weight(e))
}

// A Change is one key that was changed since the last Freeze.
type Change[V any] struct {
	Key      []byte // valid until the next call that names a key
	Old, New V      // both the receiver's
	Had, Has bool   // whether there is an old, a new value
}

// Changes iterates over what was changed since the last Freeze, in the order of first changes. Keys that came and went
// have neither value. Old values are there with Config.KeepOld and are handed out once, so a second iteration before Freeze
// needs plain values. The store is not changed meanwhile.
func (s *Store[V]) Changes() iter.Seq[Change[V]] {
	return func(yield func(Change[V]) bool) {
		for i := range s.dirty {
			c := s.dirty[i]
			e := s.entries.at(c.id)
			out := Change[V]{Key: e.key(&s.arena), Had: c.had == hadValue, Has: e.Found()}
			if out.Had && s.cfg.KeepOld {
				out.Old = s.olds[i]
			}
			if out.Has {
				out.New = s.Give(e)
			}
			if !yield(out) {
				return
			}
		}
	}
}
