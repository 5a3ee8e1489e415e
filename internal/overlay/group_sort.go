package overlay

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A listed is an entry to be sorted: by the first bytes behind the group, for which no entry has to be looked at.
type listed struct {
	head uint64
	id   uint32
}

// sorted lists the uncommitted entries of a group in order, and leaves its list so. A group that is read again, as panes are, is
// sorted once: what was added since is sorted and merged.
func (s *Store[V]) sorted(name []byte) []listed {
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
			out = append(out, listed{head(e.key(&s.arena)[len(name):]), id})
		default:
			e.flags &^= ordered // it is committed: the next change lists it again
		}
	}
	if g.sorted == len(g.ids) {
		old = len(out)
	}
	s.sort(out[old:])
	out = s.join(out, old)
	g.ids = g.ids[:0]
	for i, l := range out {
		if i == 0 || l.id != g.ids[len(g.ids)-1] {
			g.ids = append(g.ids, l.id)
		}
	}
	g.sorted = len(g.ids)
	return slices.CompactFunc(out, func(a, b listed) bool { return a.id == b.id })
}

// reuse keeps the memory of a list for the next one.
func (s *Store[V]) reuse(list []listed) {
	if cap(list) > cap(s.groups.spare) {
		s.groups.spare = list[:0]
	}
}

// sort orders a list by keys: by their heads a byte at a time, which for many short keys costs a tenth of comparing them.
func (s *Store[V]) sort(list []listed) {
	if len(list) < radixFrom {
		slices.SortFunc(list, s.compare)
		return
	}
	radix(list)
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].head == list[i].head {
			j++
		}
		if j > i+1 {
			slices.SortFunc(list[i:j], s.compare)
		}
		i = j
	}
}

func (s *Store[V]) compare(a, b listed) int {
	switch {
	case a.head < b.head:
		return -1
	case a.head > b.head:
		return 1
	}
	return bytes.Compare(s.entries.at(a.id).key(&s.arena), s.entries.at(b.id).key(&s.arena))
}

// less compares the keys of two entries.
func (s *Store[V]) less(a, b uint32) bool {
	return bytes.Compare(s.entries.at(a).key(&s.arena), s.entries.at(b).key(&s.arena)) < 0
}

// join merges list[:n] and list[n:], both in order.
func (s *Store[V]) join(list []listed, n int) []listed {
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

// radixFrom is the length from which radix pays for its tables.
const radixFrom = 256

// radix sorts by head, the lowest byte first. Bytes that all heads share cost nothing more than counting them.
func radix(list []listed) {
	var counts [8][256]uint32
	for _, l := range list {
		for b := range counts {
			counts[b][byte(l.head>>(8*b))]++
		}
	}
	from, to := list, make([]listed, len(list))
	for b := range counts {
		at := &counts[b]
		if at[byte(from[0].head>>(8*b))] == uint32(len(list)) {
			continue
		}
		sum := uint32(0)
		for i, n := range at {
			at[i], sum = sum, sum+n
		}
		for _, l := range from {
			i := byte(l.head >> (8 * b))
			to[at[i]] = l
			at[i]++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
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
