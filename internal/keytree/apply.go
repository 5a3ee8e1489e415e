package keytree

import (
	"bytes"
	"sort"

	"github.com/weirstream/weir/internal/radix"
)

// A Change is a row to be put or, where the value is nil, a key to be deleted.
type Change struct{ Key, Value []byte }

// fewChanges is the number below which nodes are not rebuilt: hardly two changes are in one.
const fewChanges = 128

// Apply makes changes, in any order; of several of one key the last counts. Keys and values are copied. Many it sorts, and rebuilds each node that has
// some once: one by one, in no order, each would wait for memory at every level.
func (t *Tree) Apply(changes []Change) {
	if len(changes) < fewChanges {
		t.oneByOne(changes)
		return
	}
	changes = inOrder(changes)
	t.edit()
	nodes := t.apply(t.root, changes, nil)
	for len(nodes) > 1 {
		nodes = t.inner(nodes)
	}
	var root *node
	if len(nodes) == 1 {
		root = nodes[0].n
	}
	t.setRoot(root)
}

func (t *Tree) oneByOne(changes []Change) {
	for _, c := range changes {
		if c.Value == nil {
			t.Delete(c.Key)
		} else {
			t.Put(c.Key, c.Value)
		}
	}
}

// inOrder is the changes in the order of keys, each key once. Their bytes are copied one behind the other: in this order they lie anywhere, and
// the processor waits for memory once for several of them here, where it would wait for each of them whenever it is looked at.
func inOrder(changes []Change) []Change {
	size := 0
	for i := range changes {
		size += len(changes[i].Key) + len(changes[i].Value)
	}
	out, data := make([]Change, 0, len(changes)), make([]byte, 0, size)
	for _, at := range radix.Order(len(changes), func(i uint32) []byte { return changes[i].Key }) {
		c := &changes[at.ID]
		from := len(data)
		data = append(append(data, c.Key...), c.Value...)
		key := data[from : from+len(c.Key) : from+len(c.Key)]
		var value []byte
		if c.Value != nil {
			value = data[from+len(c.Key):]
		}
		if n := len(out); n > 0 && bytes.Equal(out[n-1].Key, key) {
			out[n-1].Value = value
			continue
		}
		out = append(out, Change{key, value})
	}
	return out
}

// A part is one of the nodes that a node becomes, and what separates it from the one before; of the first that says nothing.
type part struct {
	sep     []byte
	n       *node
	changed bool
}

// apply appends to out what becomes of n by changes in order, of which there is one at least.
func (t *Tree) apply(n *node, changes []Change, out []part) []part {
	if n.kids == nil {
		return t.applyLeaf(n, changes, out)
	}
	kids := make([]part, 0, len(n.kids)+1)
	for i, kid := range n.kids {
		sep, to := []byte(nil), len(changes)
		if i > 0 {
			sep = n.seps[i-1]
		}
		if i < len(n.seps) {
			to = below(changes, n.seps[i])
		}
		if to == 0 {
			kids = t.join(kids, part{sep: sep, n: kid})
			continue
		}
		for j, p := range t.apply(kid, changes[:to], nil) {
			if j == 0 {
				p.sep = sep
			}
			kids = t.join(kids, p)
		}
		changes = changes[to:]
	}
	if len(kids) == 0 {
		return out
	}
	return append(out, t.inner(kids)...)
}

// below is how many of the changes are of keys below sep.
func below(changes []Change, sep []byte) int {
	step := 1 // most nodes have few of them
	for step < len(changes) && bytes.Compare(changes[step-1].Key, sep) < 0 {
		step *= 2
	}
	from := step / 2
	return from + sort.Search(min(step, len(changes))-from, func(i int) bool { return bytes.Compare(changes[from+i].Key, sep) >= 0 })
}

// join appends a node to its neighbours, or puts it together with the last of them when one of the two was changed and is small.
func (t *Tree) join(kids []part, p part) []part {
	if len(kids) == 0 {
		return append(kids, p)
	}
	last := &kids[len(kids)-1]
	if !(last.changed && last.n.small() || p.changed && p.n.small()) || !mergeable(last.n, p.n) {
		return append(kids, p)
	}
	last.n, last.changed = t.merged(last.n, p.n, p.sep), true
	return kids
}

// inner makes inner nodes of kids, as few as can hold them.
func (t *Tree) inner(kids []part) []part {
	count := (len(kids) + fanout - 1) / fanout
	out := make([]part, 0, count)
	for i := range count {
		some := kids[i*len(kids)/count : (i+1)*len(kids)/count]
		n := &node{owner: t.owner, kids: make([]*node, len(some)), seps: make([][]byte, 0, len(some))}
		for j, k := range some {
			n.kids[j] = k.n
			if j > 0 {
				n.seps = append(n.seps, k.sep)
			}
		}
		out = append(out, part{sep: some[0].sep, n: n, changed: true})
	}
	return out
}

// applyLeaf appends the leaves that a leaf becomes, none when nothing is left of it.
func (t *Tree) applyLeaf(n *node, changes []Change, out []part) []part {
	rows, size := 0, 0
	for m := (merging{n: n, changes: changes}); m.next(); {
		rows++
		size += len(m.key) + len(m.value)
	}
	if rows == 0 {
		return out
	}
	leaves := (size + leafBytes - 1) / leafBytes
	each := (size + leaves) / max(1, leaves) // rounded up
	var leaf *node
	var last []byte
	for m := (merging{n: n, changes: changes}); m.next(); {
		need := len(m.key) + len(m.value)
		if leaf == nil || len(leaf.rows) > 0 && len(leaf.data)+need > cap(leaf.data) {
			var sep []byte
			if leaf != nil {
				sep = separator(last, m.key)
			}
			leaf = &node{owner: t.owner, data: make([]byte, 0, max(min(size, each), need)), rows: make([]row, 0, rows/max(1, leaves)+1)}
			out = append(out, part{sep: sep, n: leaf, changed: true})
		}
		leaf.rows = append(leaf.rows, row{uint32(len(leaf.data)), uint32(len(m.key))})
		leaf.data = append(append(leaf.data, m.key...), m.value...)
		last = leaf.key(len(leaf.rows) - 1)
	}
	return out
}

// A merging steps through the rows that a leaf has after changes.
type merging struct {
	n          *node
	changes    []Change
	i          int // of the next row of n
	key, value []byte
}

func (m *merging) next() bool {
	for {
		order := -1
		switch {
		case m.i == len(m.n.rows) && len(m.changes) == 0:
			return false
		case m.i == len(m.n.rows):
			order = 1
		case len(m.changes) > 0:
			order = bytes.Compare(m.n.key(m.i), m.changes[0].Key)
		}
		if order < 0 {
			m.key, m.value = m.n.key(m.i), m.n.value(m.i)
			m.i++
			return true
		}
		if order == 0 {
			m.i++
		}
		c := m.changes[0]
		m.changes = m.changes[1:]
		if c.Value != nil {
			m.key, m.value = c.Key, c.Value
			return true
		}
	}
}
