package overlay

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"unsafe"
)

// An Entry is one key's place in a Store.
type Entry[V any] struct {
	header
	Value V // the zero value where the key has none
}

// A header is what the store knows of an entry. Short keys lie inside it, so that a lookup of a hot key touches one
// line of the index and one of the entry: 48 bytes leave 16 of the line to the value, and 20 of them are enough for a time, a number and an
// eight-byte key.
type header struct {
	short   [shortKey]byte // the key, or its first bytes, its length and where it is in the arena
	tag     uint32         // of the key in the index
	id      uint32         // place in entries
	dirty   uint32         // place in Store.dirty, from 1
	frozen  uint32         // the last Freeze that took it
	size    uint32         // bytes behind the value; of the encoded form when given
	encoded uint32         // where that is in the arena
	gen     uint16         // times that the place was used
	keyLen  uint8          // longKey: see short
	flags   flags
}

const (
	shortKey  = 20
	shortHead = 12 // bytes of a long key that are in its header
	longKey   = 255
)

type flags uint8

const (
	live    flags = 1 << iota // the entry is in use
	found                     // the key has a value
	used                      // asked for since the clock's hand passed
	given                     // the decoded value was handed out; the encoded form is the store's own
	unread                    // the database may have a value for the key
	ordered                   // in Store.order, or on the way there; of a grouped store, in the list of its group
)

// Found reports whether the key has a value.
func (e *Entry[V]) Found() bool { return e.flags&found != 0 }

// Get returns the value, which is the store's.
func (e *Entry[V]) Get() (v V, ok bool) { return e.Value, e.flags&found != 0 }

// is reports whether the entry is key's.
func (h *header) is(key []byte, a *arena) bool {
	if len(key) <= shortKey {
		return int(h.keyLen) == len(key) && string(h.short[:len(key)]) == string(key)
	}
	return h.keyLen == longKey && h.longLen() == len(key) && string(h.short[:shortHead]) == string(key[:shortHead]) &&
		bytes.Equal(a.bytes(h.place(), len(key)), key)
}

func (h *header) longLen() int  { return int(binary.LittleEndian.Uint32(h.short[shortHead:])) }
func (h *header) place() uint32 { return binary.LittleEndian.Uint32(h.short[shortHead+4:]) }

// key returns the key, valid while the entry is.
func (h *header) key(a *arena) []byte {
	if h.keyLen != longKey {
		return h.short[:h.keyLen:h.keyLen]
	}
	return a.bytes(h.place(), h.longLen())
}

func (h *header) setKey(key []byte, a *arena) {
	if len(key) <= shortKey {
		h.keyLen = uint8(len(key))
		copy(h.short[:], key)
		return
	}
	h.keyLen = longKey
	place := a.alloc(len(key))
	copy(a.bytes(place, len(key)), key)
	copy(h.short[:shortHead], key)
	binary.LittleEndian.PutUint32(h.short[shortHead:], uint32(len(key)))
	binary.LittleEndian.PutUint32(h.short[shortHead+4:], place)
}

// Key appends the entry's key to dst.
func (s *Store[V]) Key(dst []byte, e *Entry[V]) []byte { return append(dst, e.key(&s.arena)...) }

// entries are kept in blocks, which never move.
type entries[V any] struct {
	blocks [][]Entry[V]
	free   []uint32
	n      uint32
	size   int // bytes of an entry and its place in the index
}

const (
	blockBits = 7 // small, for most stores of most tasks are; see addBlocks for the others
	blockLen  = 1 << blockBits
	slotBytes = 12 // of the index, at its usual load
)

func (t *entries[V]) at(id uint32) *Entry[V] { return &t.blocks[id>>blockBits][id&(blockLen-1)] }

func (t *entries[V]) alloc() *Entry[V] {
	if n := len(t.free); n > 0 {
		e := t.at(t.free[n-1])
		t.free = t.free[:n-1]
		return e
	}
	if t.size == 0 {
		t.size = int(unsafe.Sizeof(Entry[V]{})) + slotBytes
	}
	id := t.n
	if int(id>>blockBits) == len(t.blocks) {
		t.blocks = addBlocks(t.blocks, blockLen)
	}
	t.n++
	e := t.at(id)
	e.id = id
	return e
}

// tag is what the index knows of a key.
func (s *Store[V]) tag(key []byte) uint32 { return uint32(maphash.Bytes(s.seed, key) >> 32) }

// find returns the entry of key, or nil.
func (s *Store[V]) find(key []byte) *Entry[V] {
	tag := s.tag(key)
	slots := s.index.shards[tag>>shardShift].slots
	mask := uint32(len(slots) - 1)
	for i := tag & mask; ; i = (i + 1) & mask {
		slot := slots[i]
		if slot == 0 {
			return nil
		}
		if uint32(slot>>32) == tag {
			if e := s.entries.at(uint32(slot) - 1); e.is(key, &s.arena) {
				return e
			}
		}
	}
}

// read makes an entry for key and fills it from the database.
func (s *Store[V]) read(key []byte) *Entry[V] {
	e := s.insert(key)
	s.fill(e, key)
	return e
}

func (s *Store[V]) fill(e *Entry[V], key []byte) {
	s.stats.Reads++
	s.loading = e
	s.dbKey = append(s.dbKey[:len(s.cfg.Prefix)], key...)
	if _, err := s.cfg.DB.Get(s.dbKey, s.loadRow); err != nil {
		s.forget(e)
		s.fail("reading key %s: %w", quote(key), err)
	}
}

func (s *Store[V]) load(row []byte) (err error) {
	e := s.loading
	if e.Value, err = s.cfg.Serde.Decode(row); err != nil {
		return err
	}
	e.flags |= found
	if s.measure {
		s.resize(e, s.sizeOfDecoded(e.Value, len(row)))
	}
	return nil
}

// insert makes an entry for a key that has none.
func (s *Store[V]) insert(key []byte) *Entry[V] {
	if s.bytes.resident+s.bytes.frozen > s.limit {
		s.evict()
	}
	e := s.entries.alloc()
	e.flags = live
	e.tag = s.tag(key)
	e.setKey(key, &s.arena)
	s.index.insert(e.tag, e.id)
	s.bytes.resident += s.weight(e)
	return e
}

// keyBytes is the memory that the key takes outside the entry.
func (h *header) keyBytes() int {
	if h.keyLen != longKey {
		return 0
	}
	return h.longLen()
}

// forget drops an entry that is clean.
func (s *Store[V]) forget(e *Entry[V]) {
	if e.flags&given != 0 {
		s.dropEncoded(e)
	}
	switch {
	case e.flags&ordered == 0:
	case s.grouped():
		s.groups.lost++
	default:
		s.order.Delete(e.key(&s.arena))
	}
	if s.saved.entry == e {
		s.saved = saved[V]{}
	}
	s.index.remove(e.tag, e.id)
	s.bytes.resident -= s.weight(e)
	if e.keyLen == longKey {
		s.arena.release(e.place(), e.longLen())
	}
	*e = Entry[V]{header: header{id: e.id, gen: e.gen + 1}}
	s.entries.free = append(s.entries.free, e.id)
}

// pinned reports whether the database does not have the entry yet.
func (s *Store[V]) pinned(e *Entry[V]) bool { return e.dirty != 0 || e.frozen > s.done }

// evictSteps bounds the work that one insert does: when nearly all entries are pinned there is nothing to be found,
// and the engine takes an early checkpoint.
const evictSteps = 16

// evict forgets clean entries that nobody asked for since the clock's hand passed them.
func (s *Store[V]) evict() {
	for range evictSteps {
		if s.hand++; s.hand >= s.entries.n {
			s.hand = 0
		}
		e := s.entries.at(s.hand)
		switch {
		case e.flags&live == 0 || s.pinned(e):
		case e.flags&used != 0:
			e.flags &^= used
		default:
			s.stats.Evicted++
			s.forget(e)
			if s.bytes.resident+s.bytes.frozen <= s.limit {
				return
			}
		}
	}
}

func (s *Store[V]) resize(e *Entry[V], size int) {
	by := size - int(e.size)
	e.size = uint32(size)
	s.bytes.resident += by
	if e.dirty != 0 {
		s.bytes.dirty += by
		return
	}
	s.waits(e, by)
}

// weight is the memory that an entry takes.
func (s *Store[V]) weight(e *Entry[V]) int { return s.entries.size + e.keyBytes() + int(e.size) }

// waits counts so many bytes more of an entry that is not dirty, where it waits for the delta that has its latest frozen value.
func (s *Store[V]) waits(e *Entry[V], by int) {
	if e.frozen > s.done {
		s.frozen[e.frozen-s.frozen[0].seq].waiting += by
		s.bytes.waiting += by
	}
}
