package overlay

import (
	"math/bits"

	"github.com/weirstream/weir/internal/hugepage"
)

// An index finds entries by the hash of their key: open addressing with linear probing, a slot holding 32 bits of
// hash (the tag) and the entry's place from 1. Against a Go map of keys it has no pointer to scan and no key of its own.
// It is cut into shards by the tag's upper bits so that growing stops the task for one shard only.
type index struct {
	shards [shards]shard
	slabs  [33][]slab // of shards that have 1<<i slots
}

type shard struct {
	slots []uint64 // a power of two of them
	n     int
}

// A slab is memory for neighbours that grow to the same size about the same time. The index has it until each has its part.
type slab struct {
	slots []uint64
	taken int
}

const (
	shardShift = 26
	shards     = 1 << (32 - shardShift)
	slabbed    = hugepage.Page / 8 / shards // slots of a shard from which all of them together fill a large page
	slabSlots  = 2 * hugepage.Page / 8      // of a slab; more would take long to clear
)

func (x *index) init() {
	empty := make([]uint64, 1) // shared, for it is never written; find needs no case for it
	for i := range x.shards {
		x.shards[i].slots = empty
	}
}

func (x *index) insert(tag, id uint32) {
	sh := &x.shards[tag>>shardShift]
	if sh.n++; sh.n*4 > len(sh.slots)*3 {
		x.grow(tag >> shardShift)
	}
	sh.put(uint64(tag)<<32 | uint64(id+1))
}

func (sh *shard) put(slot uint64) {
	mask := uint32(len(sh.slots) - 1)
	i := uint32(slot>>32) & mask
	for sh.slots[i] != 0 {
		i = (i + 1) & mask
	}
	sh.slots[i] = slot
}

func (x *index) grow(i uint32) {
	sh := &x.shards[i]
	old := sh.slots
	sh.slots = x.room(int(i), max(8, 2*len(old)))
	for _, slot := range old {
		if slot != 0 {
			sh.put(slot)
		}
	}
}

// room is n empty slots for a shard that has half of that.
func (x *index) room(shard, n int) []uint64 {
	if n < slabbed {
		return make([]uint64, n)
	}
	level, per := bits.Len(uint(n))-1, min(max(slabSlots/n, 1), shards)
	if x.slabs[level] == nil {
		x.slabs[level] = make([]slab, shards/per)
	}
	s := &x.slabs[level][shard/per]
	if s.taken == 0 {
		s.slots = hugepage.Make[uint64](n * per)
	}
	at := shard % per * n
	part := s.slots[at : at+n : at+n]
	if s.taken++; s.taken == per {
		s.slots = nil // a shard comes to a size once
	}
	return part
}

// remove takes a slot out and moves those behind it that would no longer be found.
func (x *index) remove(tag, id uint32) {
	sh := &x.shards[tag>>shardShift]
	mask := uint32(len(sh.slots) - 1)
	want := uint64(tag)<<32 | uint64(id+1)
	i := tag & mask
	for sh.slots[i] != want {
		i = (i + 1) & mask
	}
	sh.n--
	for j := i; ; {
		j = (j + 1) & mask
		slot := sh.slots[j]
		if slot == 0 {
			break
		}
		home := uint32(slot>>32) & mask
		if (j-home)&mask >= (j-i)&mask { // its home is not between the gap and itself
			sh.slots[i] = slot
			i = j
		}
	}
	sh.slots[i] = 0
}
