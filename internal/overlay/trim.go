package overlay

import (
	"slices"
	"unsafe"
)

const (
	trimSteps   = 1 << 16 // entries that one Trim looks at, so that a turn does not wait for a burst of them
	sparseBelow = 4       // a store with fewer than a quarter of its places in use is packed
	fewPlaces   = 4 * blockLen
)

// Trim forgets clean entries above the limit, and gives memory back that is mostly empty after a burst. It is called between two turns of the task: no
// entry is in use then, and no range is open.
func (s *Store[V]) Trim() {
	for step := 0; step < trimSteps && s.held() > s.limit && s.futile != s.epoch+1; step += evictSteps {
		before := s.stats.Evicted
		s.evict()
		if s.stats.Evicted > before {
			s.vain = 0
		} else if s.vain += evictSteps; s.vain > 2*int(s.entries.n) {
			s.futile, s.vain = s.epoch+1, 0 // all is pinned: nothing comes of it before something is applied
		}
	}
	if n := int(s.entries.n); n >= fewPlaces && (n-len(s.entries.free))*sparseBelow <= n {
		s.pack()
	}
}

func (s *Store[V]) held() int { return s.bytes.resident + s.bytes.frozen }

// pack moves what is in use into new blocks, and lets the old ones go.
func (s *Store[V]) pack() {
	old, keys := s.entries, s.arena
	s.entries, s.arena, s.index = entries[V]{size: old.size}, arena{}, index{}
	s.index.init()
	moved := make([]uint32, old.n) // where an entry is now, from 1
	for id := range old.n {
		from := old.at(id)
		if from.flags&live == 0 {
			continue
		}
		to := s.entries.alloc()
		id := to.id
		moved[from.id] = id + 1
		*to = *from
		to.id = id
		to.setKey(from.key(&keys), &s.arena)
		if from.flags&given != 0 {
			to.encoded = s.arena.alloc(int(from.size))
			copy(s.encoded(to), keys.bytes(from.encoded, int(from.size)))
		}
		if to.dirty != 0 {
			s.dirty[to.dirty-1].id = id
		}
		s.index.insert(to.tag, id)
	}
	s.dirty, s.olds = slices.Clone(s.dirty), slices.Clone(s.olds)
	s.unorder = remap(s.unorder, moved)
	for _, g := range s.groups.lists {
		g.ids, g.sorted = remap(g.ids, moved), 0
	}
	s.groups.spare, s.spare, s.idle, s.buf = nil, nil, nil, nil
	s.saved, s.loading, s.hand = saved[V]{}, nil, 0
}

// remap is where entries are now; those that are gone are left out.
func remap(ids, moved []uint32) []uint32 {
	if len(ids) == 0 {
		return nil
	}
	out := make([]uint32, 0, len(ids))
	for _, id := range ids {
		if at := moved[id]; at != 0 {
			out = append(out, at-1)
		}
	}
	return out
}

// Reserved is the memory that the store holds for entries and their keys, used or not.
func (s *Store[V]) Reserved() int {
	n := len(s.entries.blocks)*blockLen*int(unsafe.Sizeof(Entry[V]{})) + cap(s.entries.free)*4 + cap(s.dirty)*int(unsafe.Sizeof(change{})) + cap(s.olds)*int(unsafe.Sizeof(*new(V)))
	for i := range s.index.shards {
		n += len(s.index.shards[i].slots) * 8
	}
	for i := range s.arena.classes {
		for _, b := range s.arena.classes[i].blocks {
			n += cap(b)
		}
	}
	for _, c := range s.spare {
		n += cap(c)
	}
	return n
}

// A Member is a store that shares memory with others: Store, its types hidden.
type Member interface {
	Usage() Usage
	SetLimit(bytes int)
	Trim()
}

// Share divides limit bytes among the stores of a task, between two of its turns. While there is enough for all, each may take what is free; else
// who holds more than a fair share gives up clean entries, down to it, and what others do not need is his.
func Share[M Member](limit int, stores []M) {
	n, used := len(stores), 0
	for _, s := range stores {
		used += s.Usage().held()
	}
	if n == 0 {
		return
	}
	free := (limit - used) / n
	share := 0
	if free < 0 {
		share = fairShare(limit, stores)
	}
	for _, s := range stores {
		if free >= 0 {
			share = s.Usage().held() + free
		}
		s.SetLimit(max(share, leastShare))
		s.Trim()
	}
}

// leastShare lets a store that is new to a full task begin.
const leastShare = 16 << 10

// fairShare is the most that each may hold, so that all together hold limit.
func fairShare[M Member](limit int, stores []M) int {
	share := limit / len(stores)
	for {
		rest, above := limit, 0
		for _, s := range stores {
			if u := s.Usage().held(); u <= share {
				rest -= u
			} else {
				above++
			}
		}
		if above == 0 || rest/above <= share {
			return share
		}
		share = rest / above
	}
}

func (u Usage) held() int { return u.Resident + u.Frozen }
