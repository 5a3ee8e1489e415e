// Package keytree is an ordered map from bytes to bytes with snapshots that cost nothing.
//
// It is a B+ tree whose leaves pack keys and values into one byte slice each: the garbage collector sees one object for
// some fifty rows, and a lookup ends in one contiguous block. A Clone shares all nodes with its original; whoever is
// edited afterwards copies the nodes on its path first, once. So a version that is published and no longer edited
// may be read by any number of goroutines without a lock.
package keytree

import (
	"bytes"
	"slices"
)

const (
	leafBytes = 2048 // a leaf beyond it is split: small enough to copy, large enough to pay for its header
	leafRoom  = 2304 // what a leaf of a larger tree gets: a size of the allocator, and the row that is too much fits
	fanout    = 64
)

// A Tree is one version of the map. Reads may overlap each other, edits may overlap nothing.
type Tree struct {
	root  *node
	owner *token
}

// A token says which Tree may change a node in place.
type token struct{ _ byte }

// New returns an empty tree.
func New() *Tree {
	t := &Tree{owner: new(token)}
	t.root = &node{owner: t.owner}
	return t
}

// Clone returns a tree with the same rows. Both may be edited afterwards, neither sees the other's edits.
func (t *Tree) Clone() *Tree {
	t.owner = nil // the original lost its nodes to both: its next edit takes a new token
	return &Tree{root: t.root, owner: new(token)}
}

// Get returns the value of key, valid until the tree is edited.
func (t *Tree) Get(key []byte) (value []byte, ok bool) {
	n := t.root
	for n.kids != nil {
		n = n.kids[n.child(key)]
	}
	i, ok := n.find(key)
	if !ok {
		return nil, false
	}
	return n.value(i), true
}

// Put sets the value of key. Both are copied.
func (t *Tree) Put(key, value []byte) {
	t.edit()
	left, right, sep := t.put(t.root, key, value)
	t.root = left
	if right != nil {
		t.root = &node{owner: t.owner, kids: []*node{left, right}, seps: [][]byte{sep}}
	}
}

// Delete removes key.
func (t *Tree) Delete(key []byte) {
	if _, ok := t.Get(key); !ok {
		return // copying a path for nothing would be a waste
	}
	t.edit()
	t.setRoot(t.delete(t.root, key))
}

// DeleteRange removes the keys in [from, to). Whole subtrees are dropped, so it costs the height of the tree.
func (t *Tree) DeleteRange(from, to []byte) {
	if bytes.Compare(from, to) >= 0 {
		return
	}
	t.edit()
	t.setRoot(t.cut(t.root, from, to))
}

// Scan calls use for each key in [from, to) in order until it returns false; a nil to means all from there on.
// The slices are valid until the tree is edited.
func (t *Tree) Scan(from, to []byte, use func(key, value []byte) bool) {
	t.root.scan(from, to, use)
}

// edit makes sure that the tree owns a token before it owns nodes.
func (t *Tree) edit() {
	if t.owner == nil {
		t.owner = new(token)
	}
}

func (t *Tree) setRoot(n *node) {
	for n != nil && len(n.kids) == 1 {
		n = n.kids[0]
	}
	if n == nil {
		n = &node{owner: t.owner}
	}
	t.root = n
}

// own returns n, or a copy of it that this tree may change.
func (t *Tree) own(n *node) *node {
	if n.owner == t.owner {
		return n
	}
	c := &node{owner: t.owner, rows: slices.Clone(n.rows)}
	if n.kids != nil {
		c.kids, c.seps = slices.Clone(n.kids), slices.Clone(n.seps)
		return c
	}
	c.data = append(make([]byte, 0, len(n.data)+len(n.data)/8+64), n.data...)
	return c
}

func (t *Tree) put(n *node, key, value []byte) (left, right *node, sep []byte) {
	n = t.own(n)
	if n.kids == nil {
		i, ok := n.find(key)
		n.set(i, ok, key, value)
		if len(n.data) > leafBytes && len(n.rows) > 1 {
			right, sep = n.splitLeaf(i)
		}
		return n, right, sep
	}
	i := n.child(key)
	kid, newKid, newSep := t.put(n.kids[i], key, value)
	n.kids[i] = kid
	if newKid == nil {
		return n, nil, nil
	}
	n.kids = slices.Insert(n.kids, i+1, newKid)
	n.seps = slices.Insert(n.seps, i, newSep)
	if len(n.kids) > fanout {
		right, sep = n.splitInner()
	}
	return n, right, sep
}

// delete returns the node without key, or nil when nothing is left of it.
func (t *Tree) delete(n *node, key []byte) *node {
	n = t.own(n)
	if n.kids == nil {
		i, _ := n.find(key)
		n.remove(i, i+1)
		return n.orNil()
	}
	i := n.child(key)
	kid := t.delete(n.kids[i], key)
	if kid == nil {
		n.dropKid(i)
		return n.orNil()
	}
	n.kids[i] = kid
	if kid.small() && len(n.kids) > 1 {
		t.merge(n, max(i-1, 0))
	}
	return n
}

// merge joins kids l and l+1 of n when one node can hold them comfortably.
func (t *Tree) merge(n *node, l int) {
	if a, b := n.kids[l], n.kids[l+1]; mergeable(a, b) {
		n.kids[l] = t.merged(a, b, n.seps[l])
		n.dropKid(l + 1)
	}
}

// mergeable reports whether one node can hold the rows of two, and some more.
func mergeable(a, b *node) bool {
	return len(a.data)+len(b.data) <= leafBytes*3/4 && len(a.kids)+len(b.kids) <= fanout*3/4
}

// merged is two neighbours in one, which may be a.
func (t *Tree) merged(a, b *node, sep []byte) *node {
	a = t.own(a)
	if a.kids != nil {
		a.seps = append(append(a.seps, sep), b.seps...)
		a.kids = append(a.kids, b.kids...)
		return a
	}
	for _, r := range b.rows {
		a.rows = append(a.rows, row{r.at + uint32(len(a.data)), r.keyLen})
	}
	a.data = append(a.data, b.data...)
	return a
}

// cut returns the node without [from, to), or nil when nothing is left of it.
func (t *Tree) cut(n *node, from, to []byte) *node {
	if n.kids == nil {
		i, _ := n.find(from)
		j, _ := n.find(to)
		if i == j {
			return n
		}
		n = t.own(n)
		n.remove(i, j)
		return n.orNil()
	}
	n = t.own(n)
	lo, hi := n.child(from), n.child(to)
	n.kids[lo] = t.cut(n.kids[lo], from, to)
	if hi != lo {
		n.kids[hi] = t.cut(n.kids[hi], from, to)
	}
	for i := hi; i >= lo; i-- { // what lies between them is inside the range altogether
		if i != lo && i != hi || n.kids[i] == nil {
			n.dropKid(i)
		}
	}
	return n.orNil()
}
