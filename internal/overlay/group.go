package overlay

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/weirstream/weir/internal/overlay/keys"
)

// A grouped store has keys that begin with so many bytes of a group, a window's end say, and is read a group at a time. It keeps no
// order while it is written: what of a group is uncommitted is a list, which is sorted when the group is read. So a row that is
// written costs four bytes, and only reading a group costs what is in it.
type groups struct {
	size  int
	lists map[string]*group
	last  *group // that was written to last
	read  []*group
}

// A group is the uncommitted entries of one group, each once, and perhaps some that are committed by now or gone.
type group struct {
	name  string
	ids   []uint32
	prune int // length at which those are looked for
	read  bool
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
	g.ids = kept
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

// A listed is an entry to be sorted: by the first bytes behind the group, for which no entry has to be looked at.
type listed struct {
	head uint64
	id   uint32
}

// sorted lists the uncommitted entries of a group in order.
func (s *Store[V]) sorted(name []byte) []listed {
	g := s.groups.lists[string(name)]
	if g == nil {
		return nil
	}
	out := make([]listed, 0, len(g.ids))
	for _, id := range g.ids {
		e := s.entries.at(id)
		if s.in(e, g.name) && s.pinned(e) {
			out = append(out, listed{head(e.key(&s.arena)[len(name):]), id})
		}
	}
	slices.SortFunc(out, func(a, b listed) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(s.entries.at(a.id).key(&s.arena), s.entries.at(b.id).key(&s.arena))
	})
	return slices.CompactFunc(out, func(a, b listed) bool { return a.id == b.id })
}

// head is the first eight bytes of b as a number that sorts as they do.
func head(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var first [8]byte
	copy(first[:], b)
	return binary.BigEndian.Uint64(first[:])
}

// keysOfGroup is Keys for a group. Only the key at hand may be changed meanwhile.
func (s *Store[V]) keysOfGroup(name []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		list := s.sorted(name)
		p := s.cfg.Prefix
		end := keys.End(p)
		if e := s.endOf(name); e != nil {
			end = append(bytes.Clone(p), e...)
		}
		var rows cursor
		rows.open(append(bytes.Clone(p), name...), end)
		for at := 0; ; {
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
				order = bytes.Compare(s.entries.at(list[at].id).key(&s.arena), r.key[len(p):])
			}
			if order >= 0 {
				rows.at++
			}
			key, there := []byte(nil), true
			if order <= 0 {
				e := s.entries.at(list[at].id)
				key, there = e.key(&s.arena), e.Found()
				at++
			} else {
				key = r.key[len(p):]
			}
			if there && !yield(key) {
				return
			}
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
