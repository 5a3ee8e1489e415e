package overlay

import (
	"bytes"
	"slices"

	"github.com/weirstream/weir/internal/radix"
)

// sorted lists the uncommitted entries of a group in order, and leaves its list so. A group that is read again, as panes are, is
// sorted once: what was added since is sorted and merged.
func (s *Store[V]) sorted(name []byte) []radix.Item {
	g := s.groups.lists[string(name)]
	if g == nil {
		return nil
	}
	if g.lost != s.groups.lost {
		g.sorted, g.lost = 0, s.groups.lost
	}
	out := s.groups.spare[:0]
	s.groups.spare = nil
	old := 0
	for i, id := range g.ids {
		if i == g.sorted {
			old = len(out)
		}
		e := s.entries.at(id)
		switch {
		case !s.in(e, g.name):
		case s.pinned(e):
			out = append(out, radix.Item{Head: radix.Head(e.key(&s.arena)[len(name):]), ID: id})
		default:
			e.flags &^= ordered // it is committed: the next change lists it again
		}
	}
	if g.sorted == len(g.ids) {
		old = len(out)
	}
	s.sort(out[old:])
	if old > 0 {
		for i := old; i < len(out); i++ {
			out[i].Head = radix.Head(s.entries.at(out[i].ID).key(&s.arena)[len(name):]) // sort may have used it
		}
	}
	out = s.join(out, old)
	g.ids = g.ids[:0]
	for i, l := range out {
		if i == 0 || l.ID != g.ids[len(g.ids)-1] {
			g.ids = append(g.ids, l.ID)
		}
	}
	g.sorted = len(g.ids)
	return slices.CompactFunc(out, func(a, b radix.Item) bool { return a.ID == b.ID })
}

// reuse keeps the memory of a list for the next one.
func (s *Store[V]) reuse(list []radix.Item) {
	if cap(list) > cap(s.groups.spare) {
		s.groups.spare = list[:0]
	}
}

// sort orders a list by keys.
func (s *Store[V]) sort(list []radix.Item) {
	if len(list) < radix.Few {
		slices.SortFunc(list, s.compare)
		return
	}
	radix.By(list, func(id uint32) []byte { return s.entries.at(id).key(&s.arena) })
}

func (s *Store[V]) compare(a, b radix.Item) int {
	switch {
	case a.Head < b.Head:
		return -1
	case a.Head > b.Head:
		return 1
	}
	return bytes.Compare(s.entries.at(a.ID).key(&s.arena), s.entries.at(b.ID).key(&s.arena))
}

// less compares the keys of two entries.
func (s *Store[V]) less(a, b uint32) bool {
	return bytes.Compare(s.entries.at(a).key(&s.arena), s.entries.at(b).key(&s.arena)) < 0
}

// join merges list[:n] and list[n:], both in order.
func (s *Store[V]) join(list []radix.Item, n int) []radix.Item {
	if n == 0 || n == len(list) || s.compare(list[n-1], list[n]) <= 0 {
		return list
	}
	tail := slices.Clone(list[n:])
	for to := len(list) - 1; len(tail) > 0; to-- {
		last := tail[len(tail)-1]
		if n > 0 && s.compare(list[n-1], last) > 0 {
			n--
			list[to] = list[n]
			continue
		}
		list[to] = last
		tail = tail[:len(tail)-1]
	}
	return list
}
