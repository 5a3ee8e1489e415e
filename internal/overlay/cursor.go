package overlay

import "bytes"

// A cursor reads rows in key order, a portion at a time, so that whoever owns the rows is never called from inside its
// own scan and nothing is held between portions.
type cursor struct {
	from, to []byte // what was not read yet
	portion  []pair
	at       int // the next of portion
	buf      []byte
	size     int // rows of the next portion: small ranges read little, large ones seldom seek
	done     bool
	err      error
}

type pair struct{ key, value []byte }

const (
	firstPortion = 16
	lastPortion  = 1024
	portionBytes = 256 << 10
)

// open begins a range, in the buffers of the last one.
func (c *cursor) open(from, to []byte) {
	*c = cursor{from: from, to: to, size: firstPortion, portion: c.portion[:0], buf: c.buf[:0]}
	c.done = to != nil && bytes.Compare(from, to) >= 0
}

// small reports whether the buffers are worth keeping.
func (c *cursor) small() bool { return cap(c.buf) <= portionBytes/8 }

// peek returns the row at hand. Whoever takes it counts at up.
func (c *cursor) peek(scan func(from, to []byte, use func(key, value []byte) bool) error) (pair, bool) {
	if c.at == len(c.portion) && !c.done {
		c.read(scan)
	}
	if c.at == len(c.portion) {
		return pair{}, false
	}
	return c.portion[c.at], true
}

func (c *cursor) read(scan func(from, to []byte, use func(key, value []byte) bool) error) {
	c.portion, c.at, c.buf = c.portion[:0], 0, c.buf[:0]
	c.done = true
	c.err = scan(c.from, c.to, func(key, value []byte) bool {
		at := len(c.buf)
		c.buf = append(append(c.buf, key...), value...)
		row := c.buf[at:]
		c.portion = append(c.portion, pair{row[:len(key):len(key)], row[len(key):len(row):len(row)]})
		c.done = len(c.portion) < c.size && len(c.buf) < portionBytes
		return c.done
	})
	if !c.done {
		last := c.portion[len(c.portion)-1].key
		c.from = append(append(make([]byte, 0, len(last)+1), last...), 0)
	}
	c.size = min(2*c.size, lastPortion)
}
