package overlay

import "github.com/weirstream/weir/internal/radix"

// Ahead is how many keys are fetched together: enough to share the wait for memory, few enough that what has come is still in the
// nearest cache when it is used.
const Ahead = 32

// farBytes is what a store has in memory when most of it is no longer in a cache of the processor's own.
const farBytes = 1 << 20

// fetching are keys that will be asked for next.
type fetching struct {
	tags [Ahead]uint32
	ids  [Ahead]uint32
	n    int
	seen uint32 // of what was touched, so that it is read
}

// Behind says how to touch the memory behind a value, a slice's say. f reads some of it, and is called for whole values only. It returns s.
func (s *Store[V]) Behind(f func(v V) uint32) *Store[V] {
	s.cfg.Behind = f
	return s
}

// Far reports whether the store is so large that asking ahead is worth it.
func (s *Store[V]) Far() bool { return s.bytes.resident > farBytes }

// Ask says that key will be asked for soon. It may be wrong: nothing but time depends on it.
func (s *Store[V]) Ask(key []byte) {
	if s.fetching.n == Ahead {
		s.Fetch()
	}
	s.fetching.tags[s.fetching.n] = s.tag(key)
	s.fetching.n++
}

// Fetch touches what there is in memory of the keys that were asked for. A lookup waits for memory two or three times, each time for where to
// look next; of all keys together the processor has the first waits under way at once, then the second ones. Nothing
// is read from the database, and nothing that is found is kept: an entry may be gone when its key is asked for in earnest.
func (s *Store[V]) Fetch() {
	f := &s.fetching
	tags, ids := f.tags[:f.n], f.ids[:0]
	f.n = 0
	for _, tag := range tags {
		slots := s.index.shards[tag>>shardShift].slots
		f.seen += uint32(slots[tag&uint32(len(slots)-1)])
	}
	for _, tag := range tags {
		if id, ok := s.index.first(tag); ok {
			ids = append(ids, id)
		}
	}
	s.touchAll(ids)
}

// fetchSorted touches the next entries of a list.
func (s *Store[V]) fetchSorted(list []radix.Item) {
	ids := s.fetching.ids[:min(Ahead, len(list))]
	for i := range ids {
		ids[i] = list[i].ID
	}
	s.touchAll(ids)
}

// touchAll touches entries, then what lies behind them: long keys, and values that are not there as a whole.
func (s *Store[V]) touchAll(ids []uint32) {
	seen := uint32(0)
	for _, id := range ids {
		e := s.entries.at(id)
		seen += uint32(e.short[0]) + uint32(e.flags) // the first and the last of it, which may lie on two lines
	}
	for _, id := range ids {
		e := s.entries.at(id)
		if e.keyLen == longKey && e.flags&live != 0 {
			key := e.key(&s.arena)
			seen += uint32(key[0]) + uint32(key[len(key)-1])
		}
		if s.cfg.Behind != nil && e.flags&(found|given) == found {
			seen += s.cfg.Behind(e.Value)
		}
	}
	s.fetching.seen += seen
}

// first is the first entry whose key may be one of tag.
func (x *index) first(tag uint32) (id uint32, ok bool) {
	slots := x.shards[tag>>shardShift].slots
	mask := uint32(len(slots) - 1)
	for i := tag & mask; slots[i] != 0; i = (i + 1) & mask {
		if uint32(slots[i]>>32) == tag {
			return uint32(slots[i]) - 1, true
		}
	}
	return 0, false
}
