package keytree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// TestApplyAgainstMap makes random batches of changes, few and many, of keys with and without common beginnings, on a tree whose older versions
// must stay what they were.
func TestApplyAgainstMap(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			tree, model := New(), map[string]string{}
			type version struct {
				tree  *Tree
				model map[string]string
			}
			var versions []version
			key := func() []byte {
				if rnd.IntN(4) == 0 {
					return bytes.Repeat([]byte{0}, rnd.IntN(20)) // one is the beginning of the other, and heads are filled up with the same byte
				}
				return fmt.Appendf(nil, "k%0*d", 1+rnd.IntN(12), rnd.IntN(3000))
			}
			for range 60 {
				deletes := rnd.IntN(10)
				var changes []Change
				for range 1 << rnd.IntN(12) {
					c := Change{Key: key()}
					if rnd.IntN(10) >= deletes {
						c.Value = bytes.Repeat([]byte{byte(len(changes))}, rnd.IntN(40))
						if rnd.IntN(500) == 0 {
							c.Value = make([]byte, 2*leafBytes)
						}
					}
					changes = append(changes, c)
				}
				if rnd.IntN(5) == 0 {
					for k := range model { // all but a few go
						if rnd.IntN(100) > 0 {
							changes = append(changes, Change{Key: []byte(k)})
						}
					}
				}
				tree = tree.Clone()
				tree.Apply(changes)
				model = maps.Clone(model)
				for _, c := range changes {
					if c.Value == nil {
						delete(model, string(c.Key))
					} else {
						model[string(c.Key)] = string(c.Value)
					}
				}
				sound(t, tree.root, nil, nil, depth(tree.root))
				versions = append(versions, version{tree, model})
			}
			for _, v := range versions {
				equal(t, v.tree, v.model, rnd)
			}
		})
	}
}

func depth(n *node) (d int) {
	for ; n.kids != nil; n = n.kids[0] {
		d++
	}
	return d
}

// sound checks what lookups rely on: all leaves are as deep, nodes have no more than they may, and separators separate.
func sound(t *testing.T, n *node, from, to []byte, depth int) {
	t.Helper()
	if n.kids == nil {
		if depth != 0 {
			t.Fatalf("a leaf is %d above the others", depth)
		}
		for i := range n.rows {
			if k := n.key(i); bytes.Compare(k, from) < 0 || to != nil && bytes.Compare(k, to) >= 0 {
				t.Fatalf("key %q is not in [%q, %q)", k, from, to)
			}
		}
		if len(n.data) > leafBytes+leafBytes/2 && len(n.rows) > 1 && len(n.value(0)) < leafBytes && len(n.value(len(n.rows)-1)) < leafBytes {
			t.Fatalf("a leaf of %d rows has %d bytes", len(n.rows), len(n.data))
		}
		return
	}
	if len(n.kids) > fanout || len(n.seps) != len(n.kids)-1 {
		t.Fatalf("a node has %d kids and %d separators", len(n.kids), len(n.seps))
	}
	for i, kid := range n.kids {
		lo, hi := from, to
		if i > 0 {
			lo = n.seps[i-1]
		}
		if i < len(n.seps) {
			hi = n.seps[i]
		}
		sound(t, kid, lo, hi, depth-1)
	}
}

// Rows that come in no order and go again, a batch each, as a checkpoint's do.
func BenchmarkApply(b *testing.B) {
	for _, rows := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			changes := make([]Change, rows)
			tree := New()
			base := binary.BigEndian.AppendUint64([]byte("a task and a store"), 12345)
			for b.Loop() {
				for _, put := range []bool{true, false} {
					for i := range changes {
						key := binary.BigEndian.AppendUint64(base[:len(base):len(base)], uint64(i)*0x9E3779B97F4A7C15)
						changes[i] = Change{Key: key}
						if put {
							changes[i].Value = key[:16]
						}
					}
					tree = tree.Clone()
					tree.Apply(changes)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*rows), "ns/row")
		})
	}
}
