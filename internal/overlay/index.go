package overlay

// An index finds entries by the hash of their key: open addressing with linear probing, a slot holding 32 bits of
// hash (the tag) and the entry's place from 1. Against a Go map of keys it has no pointer to scan and no key of its own.
// It is cut into shards by the tag's upper bits so that growing stops the task for one shard only.
type index struct {
	shards [1 << (32 - shardShift)]shard
}

type shard struct {
	slots []uint64 // a power of two of them
	n     int
}

const shardShift = 26

func (x *index) init() {
	empty := make([]uint64, 1) // shared, for it is never written; find needs no case for it
	for i := range x.shards {
		x.shards[i].slots = empty
	}
}

func (x *index) insert(tag, id uint32) {
	sh := &x.shards[tag>>shardShift]
	if sh.n++; sh.n*4 > len(sh.slots)*3 {
		sh.grow()
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

func (sh *shard) grow() {
	old := sh.slots
	sh.slots = make([]uint64, max(8, 2*len(old)))
	for _, slot := range old {
		if slot != 0 {
			sh.put(slot)
		}
	}
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
