package memory

import "github.com/weirstream/weir/internal/wire"

// An arena copies records' bytes into large pieces of memory, which live as long as a record in them does.
type arena struct {
	free []byte // length 0…cap: what is left of the current piece
	size int    // of the last piece
}

// The sizes of pieces: a task that writes little pays little.
const (
	minPiece = 512
	maxPiece = 64 << 10
)

func (a *arena) grow(n int) {
	a.size = max(n, min(maxPiece, max(minPiece, 2*a.size)))
	a.free = make([]byte, a.size)
}

// copy keeps b; null stays null, and what is empty stays empty.
func (a *arena) copy(b []byte) []byte {
	switch {
	case b == nil:
		return nil
	case len(b) == 0:
		return []byte{} // of an arena without a piece it would be null
	}
	n := len(b)
	if n > len(a.free) {
		a.grow(n)
	}
	kept := a.free[:n:n]
	a.free = a.free[n:]
	copy(kept, b)
	return kept
}

// record copies a record without its offset.
func (a *arena) record(time int64, key, value []byte, headers []wire.Header) wire.Record {
	r := wire.Record{Time: time, Key: a.copy(key), Value: a.copy(value)}
	if len(headers) > 0 {
		r.Headers = make([]wire.Header, len(headers))
		for i, h := range headers {
			r.Headers[i] = wire.Header{Key: h.Key, Value: a.copy(h.Value)}
		}
	}
	return r
}
