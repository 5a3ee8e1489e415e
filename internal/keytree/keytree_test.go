package keytree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAgainstMap runs random edits on a tree and on a map; now and then both are cloned, and every clone must still
// equal its own map at the end.
func TestAgainstMap(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			tree, model := New(), map[string]string{}
			type version struct {
				tree  *Tree
				model map[string]string
			}
			var versions []version
			key := func() []byte { return fmt.Appendf(nil, "k%0*d", 1+rnd.IntN(4), rnd.IntN(3000)) }
			for i := range 20000 {
				switch k := key(); {
				case i%10 < 6:
					v := bytes.Repeat([]byte{byte(i)}, rnd.IntN(40))
					tree.Put(k, v)
					model[string(k)] = string(v)
				case i%10 < 9 || rnd.IntN(100) > 0:
					tree.Delete(k)
					delete(model, string(k))
				default:
					to := key()
					tree.DeleteRange(k, to)
					maps.DeleteFunc(model, func(m, _ string) bool { return m >= string(k) && m < string(to) })
				}
				if i%1500 == 0 {
					versions = append(versions, version{tree, maps.Clone(model)})
					tree = tree.Clone()
				}
			}
			for _, v := range append(versions, version{tree, model}) {
				equal(t, v.tree, v.model, rnd)
			}
		})
	}
}

func equal(t *testing.T, tree *Tree, model map[string]string, rnd *rand.Rand) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(model))
	var got []string
	tree.Scan(nil, []byte{0xff}, func(k, v []byte) bool {
		got = append(got, string(k))
		if model[string(k)] != string(v) {
			t.Fatalf("scan: %q = %q, want %q", k, v, model[string(k)])
		}
		return true
	})
	if !slices.Equal(got, keys) {
		t.Fatalf("scan found %d keys, want %d", len(got), len(keys))
	}
	for _, k := range keys {
		if v, ok := tree.Get([]byte(k)); !ok || string(v) != model[k] {
			t.Fatalf("get %q = %q, %v", k, v, ok)
		}
	}
	if len(keys) == 0 {
		return
	}
	for range 20 {
		i := rnd.IntN(len(keys))
		j := i + rnd.IntN(len(keys)-i)
		n := 0
		tree.Scan([]byte(keys[i]), []byte(keys[j]), func(k, _ []byte) bool { n++; return true })
		if n != j-i {
			t.Fatalf("scan [%q, %q) found %d keys, want %d", keys[i], keys[j], n, j-i)
		}
	}
}

func TestLargeRows(t *testing.T) {
	tree := New()
	for i := range 100 {
		tree.Put([]byte{byte(i)}, bytes.Repeat([]byte{byte(i)}, 3*leafBytes))
	}
	for i := range 100 {
		v, ok := tree.Get([]byte{byte(i)})
		if !ok || len(v) != 3*leafBytes || v[0] != byte(i) {
			t.Fatalf("row %d: %d bytes, %v", i, len(v), ok)
		}
	}
}

func TestShrinksToNothing(t *testing.T) {
	tree := New()
	for i := range 10000 {
		tree.Put(binary.BigEndian.AppendUint32(nil, uint32(i)), []byte("value"))
	}
	for i := range 10000 {
		tree.Delete(binary.BigEndian.AppendUint32(nil, uint32(i*7919%10000)))
	}
	if tree.root.kids != nil || len(tree.root.rows) != 0 {
		t.Fatalf("an empty tree has %d kids and %d rows", len(tree.root.kids), len(tree.root.rows))
	}
}

func BenchmarkTree(b *testing.B) {
	const n = 1 << 20
	key := func(dst []byte, i int) []byte {
		return binary.BigEndian.AppendUint64(dst[:0], uint64(i)*0x9E3779B97F4A7C15)
	}
	tree := New()
	var buf []byte
	b.Run("put", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			buf = key(buf, i%n)
			tree.Put(buf, buf)
		}
	})
	for i := range n {
		buf = key(buf, i)
		tree.Put(buf, buf)
	}
	b.Run("get", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			buf = key(buf, i%n)
			if _, ok := tree.Get(buf); !ok {
				b.Fatal("not found")
			}
		}
	})
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			tree.Scan(nil, bytes.Repeat([]byte{0xff}, 9), func(k, v []byte) bool { return true })
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
	})
}
