package overlay

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/serde"
)

// A store of many rows gets its memory by the slab. Every row keeps its place in it, also when most have gone and the rest is packed.
func TestSlabs(t *testing.T) {
	const n = 300_000 // entries, long keys and index are all beyond the first slab
	db := openDB(t)
	s := New(Config[int64]{Name: "s", DB: db, Prefix: prefix, Serde: serde.Int64, Plain: true, LimitBytes: 1 << 30})
	name := func(i int) []byte { return fmt.Appendf(nil, "a key that does not lie in its entry %d", i) }
	for i := range n {
		s.Put(name(i), int64(i))
	}
	slabs := 0
	for _, of := range s.index.slabs {
		slabs += len(of)
	}
	if slabs == 0 || s.entries.size*n < 2*slabFrom {
		t.Fatal("there are no slabs: this test is too small")
	}
	if most := n + n/4 + 2*slabFrom/s.entries.size; len(s.entries.blocks)*blockLen > most {
		t.Errorf("room for %d entries, want %d at most", len(s.entries.blocks)*blockLen, most)
	}
	for i := range n {
		if v, ok := s.Get(name(i)); !ok || v != int64(i) {
			t.Fatalf("row %d is %d, %v", i, v, ok)
		}
		if i%10 != 0 {
			s.Delete(name(i))
		}
	}
	apply(t, db, freeze(t, s, 1))
	s.Applied(1)
	s.pack()
	for i := range n {
		if v, ok := s.Get(name(i)); ok != (i%10 == 0) || ok && v != int64(i) {
			t.Fatalf("row %d is %d, %v after packing", i, v, ok)
		}
	}
}
