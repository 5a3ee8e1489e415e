package overlay

import (
	"fmt"
	"iter"
	"strconv"

	"github.com/weirstream/weir/state"
)

// A Delta is what one checkpoint changed in one store, encoded. Any goroutine may read it until the checkpoint is
// reported as applied or the store is dropped.
type Delta struct {
	N       uint64 // the checkpoint
	Store   string
	prefix  int // length of the store's prefix
	seq     uint32
	chunks  [][]byte
	rows    []row
	bytes   int
	waiting int // bytes of entries that are clean once it is applied
}

// A row is where a key with its prefix lies, its value behind it; a negative valueLen deletes the key.
type row struct {
	chunk, at        uint32
	keyLen, valueLen int32
}

// Len is the number of keys.
func (d *Delta) Len() int { return len(d.rows) }

// Bytes is the memory it takes.
func (d *Delta) Bytes() int { return d.bytes }

// All iterates over keys, without the store's prefix, and values, in the order of their first change. A nil value is a
// deletion. This is what goes to the changelog.
func (d *Delta) All() iter.Seq2[[]byte, []byte] { return d.from(d.prefix) }

// AddTo adds the changes to a batch for the database, without copying them: the delta must last until it is applied.
func (d *Delta) AddTo(b *state.Batch) {
	if len(d.rows) > 0 {
		b.Append(d.from(0), d.bytes)
	}
}

func (d *Delta) from(skip int) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for _, r := range d.rows {
			b := d.chunks[r.chunk][r.at:]
			key, value := b[skip:r.keyLen:r.keyLen], []byte(nil)
			if r.valueLen >= 0 {
				value = b[r.keyLen : r.keyLen+r.valueLen : r.keyLen+r.valueLen]
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

const (
	chunkBytes = 256 << 10
	chunkRoom  = 4 << 10 // a chunk with less is full: what does not fit costs a copy of the whole chunk
	maxSpare   = 16
)

// Freeze encodes what was changed since the last Freeze as checkpoint n's delta. The changes stay visible, and become
// clean by Applied. n must rise. An error names the store and the key; the store is then fit for Drop only.
func (s *Store[V]) Freeze(n uint64) (*Delta, error) {
	s.seq++
	d := &Delta{N: n, Store: s.cfg.Name, prefix: len(s.cfg.Prefix), seq: s.seq}
	if len(s.dirty) > 0 {
		d.rows = make([]row, 0, len(s.dirty))
	}
	for i := range s.dirty {
		c := &s.dirty[i]
		e := s.entries.at(c.id)
		if !e.Found() && c.had == hadNone {
			e.dirty = 0
			if s.waits(e, s.weight(e)); e.frozen <= s.done {
				s.forget(e) // it came and went between two checkpoints, and the database never had it
			}
			continue
		}
		if err := s.freeze(d, e); err != nil {
			return nil, err
		}
		e.dirty, e.frozen = 0, s.seq
		d.waiting += s.weight(e)
	}
	s.dirty = emptied(s.dirty)
	clear(s.olds)
	s.olds = emptied(s.olds)
	s.bytes.dirty = 0
	s.bytes.waiting += d.waiting
	s.frozen = append(s.frozen, d)
	s.bytes.frozen += d.bytes
	return d, nil
}

// emptied is a list to begin anew in: the same, unless most of it is left from a burst.
func emptied[T any](list []T) []T {
	if n := len(list); cap(list) > 4*n+blockLen {
		return make([]T, 0, 2*n)
	}
	return list[:0]
}

func (s *Store[V]) freeze(d *Delta, e *Entry[V]) error {
	last := len(d.chunks) - 1
	if last < 0 || cap(d.chunks[last])-len(d.chunks[last]) < chunkRoom {
		last++
		chunk := s.chunk()
		d.chunks = append(d.chunks, chunk)
		d.bytes += cap(chunk)
	}
	chunk := d.chunks[last]
	room := cap(chunk)
	r := row{chunk: uint32(last), at: uint32(len(chunk)), valueLen: -1}
	key := e.key(&s.arena)
	chunk = append(append(chunk, s.cfg.Prefix...), key...)
	r.keyLen = int32(len(chunk) - int(r.at))
	if e.Found() {
		from := len(chunk)
		var err error
		if chunk, err = s.encode(chunk, e); err != nil {
			return fmt.Errorf("store %q: encoding the value of key %s: %w", s.cfg.Name, quote(key), err)
		}
		size := len(chunk) - from
		if size > s.cfg.MaxValueBytes {
			return fmt.Errorf("store %q: the value of key %s has %d bytes, the limit is %d", s.cfg.Name, quote(key), size, s.cfg.MaxValueBytes)
		}
		r.valueLen = int32(size)
		if s.measure && e.flags&given == 0 {
			s.resize(e, s.sizeOfDecoded(e.Value, size))
		}
	}
	d.chunks[last] = chunk
	d.bytes += cap(chunk) - room
	d.rows = append(d.rows, r)
	return nil
}

func (s *Store[V]) encode(dst []byte, e *Entry[V]) ([]byte, error) {
	if e.flags&given != 0 {
		return append(dst, s.encoded(e)...), nil
	}
	return s.cfg.Serde.Append(dst, e.Value)
}

func (s *Store[V]) chunk() []byte {
	n := len(s.spare)
	if n == 0 {
		return make([]byte, 0, s.firstChunk())
	}
	c := s.spare[n-1]
	s.spare = s.spare[:n-1]
	return c
}

// firstChunk fits a small delta: a thousand tasks with a key each must not take a quarter of a gigabyte.
func (s *Store[V]) firstChunk() int {
	return min(chunkBytes, chunkRoom+len(s.dirty)*(len(s.cfg.Prefix)+64))
}

// Applied says that the deltas up to checkpoint n are in the database. They must not be read any more.
func (s *Store[V]) Applied(n uint64) {
	for len(s.frozen) > 0 && s.frozen[0].N <= n {
		d := s.frozen[0]
		s.frozen = s.frozen[1:]
		s.done = d.seq
		s.bytes.frozen -= d.bytes
		s.bytes.waiting -= d.waiting
		s.epoch++
		for _, c := range d.chunks {
			if len(s.spare) < maxSpare && cap(c) == chunkBytes {
				s.spare = append(s.spare, c[:0])
			}
		}
	}
	if len(s.frozen) == 0 {
		s.frozen = nil
	}
	s.pruneRead()
}

// Drop forgets everything that is not committed, and the cache with it.
func (s *Store[V]) Drop() {
	fresh := New(s.cfg)
	fresh.limit, fresh.epoch, fresh.stats = s.limit, s.epoch+1, s.stats
	if s.grouped() {
		fresh.Grouped(s.groups.size)
	}
	*s = *fresh
	s.loadRow = s.load
}

// quote prints a key for an error message.
func quote(key []byte) string {
	const most = 64
	if len(key) > most {
		return strconv.Quote(string(key[:most])) + "…"
	}
	return strconv.Quote(string(key))
}
