package overlay

import (
	"bytes"
	"iter"
	"slices"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/radix"
)

// A grouped store has keys that begin with so many bytes of a group, a window's end say, and is read a group at a time. It keeps no
// order while it is written: what of a group is uncommitted is a list, which is sorted when the group is read. So a row that is
// written costs four bytes, and only reading a group costs what is in it.
type groups struct {
	size  int
	lists map[string]*group
	last  *group // that was written to last
	read  []*group
	lost  int          // entries that were in a list and were forgotten
	spare []radix.Item // for the next group that is read
}

// A group is the uncommitted entries of one group, each once, and perhaps some that are committed by now or gone.
type group struct {
	name   string
	ids    []uint32
	sorted int // so many are in the order of their keys, if
	lost   int // nothing was lost since
	prune  int // length at which what is gone is looked for
	read   bool
}

const firstPrune = 4096

// Grouped makes the store one of groups of n bytes, before anything is written to it. It returns s.
func (s *Store[V]) Grouped(n int) *Store[V] {
	s.groups.size, s.groups.lists = n, map[string]*group{}
	return s
}

func (s *Store[V]) grouped() bool { return s.groups.size > 0 }

// enlist puts a changed entry into the list of its group.
func (s *Store[V]) enlist(e *Entry[V]) {
	e.flags |= ordered
	g := s.groupOf(e.key(&s.arena))
	if n := len(g.ids); n == g.sorted && g.lost == s.groups.lost && (n == 0 || s.less(g.ids[n-1], e.id)) {
		g.sorted++ // as when a group is filled from another one
	}
	g.ids = append(g.ids, e.id)
	if len(g.ids) >= g.prune {
		s.prune(g)
	}
}

// groupOf is the group of a key. A key too short for one is its own.
func (s *Store[V]) groupOf(key []byte) *group {
	gs := &s.groups
	name := key[:min(gs.size, len(key))]
	if gs.last != nil && string(name) == gs.last.name {
		return gs.last
	}
	g := gs.lists[string(name)]
	if g == nil {
		g = &group{name: string(name), prune: firstPrune}
		g.lost = gs.lost
		gs.lists[g.name] = g
	}
	gs.last = g
	return g
}

// prune takes what is committed or gone off a list.
func (s *Store[V]) prune(g *group) {
	kept := g.ids[:0]
	for _, id := range g.ids {
		e := s.entries.at(id)
		switch {
		case !s.in(e, g.name): // gone, and another entry may have its place
		case s.pinned(e):
			kept = append(kept, id)
		default:
			e.flags &^= ordered
		}
	}
	g.ids, g.sorted = kept, 0
	g.prune = max(firstPrune, 2*len(kept))
}

// in reports whether an entry is in the list of a group.
func (s *Store[V]) in(e *Entry[V], name string) bool {
	if e.flags&ordered == 0 {
		return false
	}
	key := e.key(&s.arena)
	return len(key) >= len(name) && string(key[:len(name)]) == name
}

// keysOfGroup is Keys for a group. Only the key at hand may be changed meanwhile.
func (s *Store[V]) keysOfGroup(name []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s.walkGroup(name, func(key []byte, _ *Entry[V], _ []byte) bool { return yield(key) })
	}
}

// Entries iterates over a group of a grouped store in the order of its keys, each with its entry, as [Store.Entry] returns it. It costs no
// lookup of what is not committed, and no read of what is. Only the entry at hand, and other groups, may be changed meanwhile; key and entry
// are valid until the next call that names a key.
func (s *Store[V]) Entries(group []byte) iter.Seq2[[]byte, *Entry[V]] {
	return func(yield func([]byte, *Entry[V]) bool) {
		s.walkGroup(group, func(key []byte, e *Entry[V], row []byte) bool {
			*s.cfg.Changes++
			if e == nil {
				e = s.committed(key, row)
			}
			e.flags |= used
			if e.flags&given != 0 {
				s.takeBack(e)
			}
			if !s.cfg.Plain {
				s.beforeChange(e)
			}
			return yield(key, e)
		})
	}
}

// committed is the entry of a row that was read from the database.
func (s *Store[V]) committed(key, row []byte) *Entry[V] {
	e := s.find(key)
	if e != nil {
		return e
	}
	e = s.insert(key)
	s.loading = e
	if err := s.load(row); err != nil {
		s.forget(e)
		s.fail("reading key %s: %w", quote(key), err)
	}
	return e
}

// walkGroup merges what of a group is uncommitted, each with its entry, with what the database has, each with its row.
func (s *Store[V]) walkGroup(name []byte, visit func(key []byte, e *Entry[V], row []byte) bool) {
	list := s.sorted(name)
	defer s.reuse(list)
	p := s.cfg.Prefix
	end := keys.End(p)
	if e := s.endOf(name); e != nil {
		end = append(bytes.Clone(p), e...)
	}
	var rows cursor
	rows.open(append(bytes.Clone(p), name...), end)
	for at, fetched := 0, 0; ; {
		if at == fetched && at < len(list) {
			s.fetchSorted(list[at:])
			fetched += Ahead
		}
		r, inDB := rows.peek(s.cfg.DB.Scan)
		if rows.err != nil {
			s.fail("reading a group: %w", rows.err)
		}
		order := -1
		switch {
		case at == len(list) && !inDB:
			s.wasRead(name)
			return
		case at == len(list):
			order = 1
		case inDB:
			order = bytes.Compare(s.entries.at(list[at].ID).key(&s.arena), r.key[len(p):])
		}
		if order >= 0 {
			rows.at++
		}
		if order > 0 {
			if !visit(r.key[len(p):], nil, r.value) {
				return
			}
			continue
		}
		e := s.entries.at(list[at].ID)
		at++
		if e.Found() && !visit(e.key(&s.arena), e, nil) {
			return
		}
	}
}

// wasRead notes that a group was read whole: its rows may be gone for good, and its list is looked at when what they were is committed.
func (s *Store[V]) wasRead(name []byte) {
	if g := s.groups.lists[string(name)]; g != nil && !g.read {
		g.read = true
		s.groups.read = append(s.groups.read, g)
	}
}

// pruneRead takes what is committed off the lists of groups that were read, and forgets those that are empty.
func (s *Store[V]) pruneRead() {
	s.groups.read = slices.DeleteFunc(s.groups.read, func(g *group) bool {
		s.prune(g)
		if len(g.ids) == 0 {
			delete(s.groups.lists, g.name)
			s.groups.last = nil
			return true
		}
		return false
	})
}
