package keytree

import (
	"bytes"
	"slices"
	"sort"
)

// A node is a leaf, with rows in data, or an inner node, with kids. All keys of kids[i+1] are at or above seps[i],
// all keys of kids[i] below it.
type node struct {
	owner *token
	data  []byte
	rows  []row
	kids  []*node
	seps  [][]byte // never changed in place: versions share them
}

// A row is a key and, behind it up to the next row, its value.
type row struct{ at, keyLen uint32 }

func (n *node) key(i int) []byte {
	r := n.rows[i]
	return n.data[r.at : r.at+r.keyLen]
}

func (n *node) value(i int) []byte {
	r, end := n.rows[i], n.start(i+1)
	return n.data[r.at+r.keyLen : end : end]
}

// start is where row i begins, the end of the data for the one after the last.
func (n *node) start(i int) int {
	if i == len(n.rows) {
		return len(n.data)
	}
	return int(n.rows[i].at)
}

func (n *node) find(key []byte) (int, bool) {
	lo, hi := 0, len(n.rows)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if bytes.Compare(n.key(mid), key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(n.rows) && bytes.Equal(n.key(lo), key)
}

// child is the kid that key belongs to.
func (n *node) child(key []byte) int {
	lo, hi := 0, len(n.seps)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if bytes.Compare(n.seps[mid], key) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// set writes row i, over the one that is there or in front of it.
func (n *node) set(i int, replace bool, key, value []byte) {
	from := n.start(i)
	if !replace {
		n.rows = slices.Insert(n.rows, i, row{uint32(from), uint32(len(key))})
		n.resize(i, from, len(key)+len(value))
		copy(n.data[from:], key)
		copy(n.data[from+len(key):], value)
		return
	}
	from += len(key)
	n.resize(i, from, len(value)-(n.start(i+1)-from))
	copy(n.data[from:], value)
}

// resize makes row i longer or shorter by moving what follows it; at is inside the row, before the bytes that change.
func (n *node) resize(i, at, by int) {
	if by == 0 {
		return
	}
	if by > 0 {
		old := len(n.data)
		n.room(by)
		n.data = n.data[:old+by]
		copy(n.data[at+by:], n.data[at:old])
	} else {
		n.data = slices.Delete(n.data, at, at-by)
	}
	for j := i + 1; j < len(n.rows); j++ {
		n.rows[j].at += uint32(by)
	}
}

// room makes room for that many more bytes. A leaf that is to be one of many gets at once what a full one needs: growing step by step
// would allocate five times as much, all of it memory that was never touched before.
func (n *node) room(by int) {
	need := len(n.data) + by
	if need <= cap(n.data) {
		return
	}
	size := max(2*cap(n.data), need)
	if need > leafBytes/4 {
		size = max(leafRoom, need)
	}
	n.data = append(make([]byte, 0, size), n.data...)
}

// remove takes rows [i, j) out.
func (n *node) remove(i, j int) {
	from, to := n.start(i), n.start(j)
	n.data = slices.Delete(n.data, from, to)
	n.rows = slices.Delete(n.rows, i, j)
	for k := i; k < len(n.rows); k++ {
		n.rows[k].at -= uint32(to - from)
	}
}

// splitLeaf moves the upper rows to a new leaf. put is the row just written: when it is the last one, keys arrive in
// order, and the left leaf stays full.
func (n *node) splitLeaf(put int) (right *node, sep []byte) {
	cut := len(n.rows) - 1
	if put != cut {
		cut = sort.Search(cut, func(i int) bool { return i > 0 && n.start(i) >= len(n.data)/2 })
	}
	from := n.start(cut)
	right = &node{owner: n.owner, data: append(make([]byte, 0, max(leafRoom, len(n.data)-from)), n.data[from:]...),
		rows: append(make([]row, 0, len(n.rows)+1), n.rows[cut:]...)} // to be as full as this one is
	for i := range right.rows {
		right.rows[i].at -= uint32(from)
	}
	n.data, n.rows = n.data[:from], n.rows[:cut]
	return right, separator(n.key(cut-1), right.key(0))
}

func (n *node) splitInner() (right *node, sep []byte) {
	cut := len(n.kids) / 2
	sep = n.seps[cut-1]
	right = &node{owner: n.owner, kids: slices.Clone(n.kids[cut:]), seps: slices.Clone(n.seps[cut:])}
	clear(n.kids[cut:])
	n.kids, n.seps = n.kids[:cut], n.seps[:cut-1]
	return right, sep
}

// separator is the shortest s with a < s <= b.
func separator(a, b []byte) []byte {
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return bytes.Clone(b[:i+1])
}

func (n *node) dropKid(i int) {
	n.kids = slices.Delete(n.kids, i, i+1)
	if len(n.seps) > 0 {
		at := max(i-1, 0)
		n.seps = slices.Delete(n.seps, at, at+1)
	}
}

func (n *node) orNil() *node {
	if len(n.rows) == 0 && len(n.kids) == 0 {
		return nil
	}
	return n
}

func (n *node) small() bool {
	return n.kids == nil && len(n.data) < leafBytes/4 || n.kids != nil && len(n.kids) < fanout/4
}

func (n *node) scan(from, to []byte, use func(key, value []byte) bool) bool {
	if n.kids == nil {
		i, _ := n.find(from)
		for ; i < len(n.rows) && (to == nil || bytes.Compare(n.key(i), to) < 0); i++ {
			if !use(n.key(i), n.value(i)) {
				return false
			}
		}
		return true
	}
	for i := n.child(from); i < len(n.kids); i++ {
		if i > 0 && to != nil && bytes.Compare(n.seps[i-1], to) >= 0 {
			break
		}
		if !n.kids[i].scan(from, to, use) {
			return false
		}
	}
	return true
}
