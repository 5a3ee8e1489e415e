package hugepage

import "testing"

type odd struct{ a [9]uint64 }

// TestMake: the memory is whole, zero and nobody else's, whatever the size.
func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 1000, Page / 72, Page/72 + 1, 3*Page/72 + 77, 1 << 18} {
		a, b := Make[odd](n), Make[odd](n)
		if len(a) != n || cap(a) != n {
			t.Fatalf("%d: length %d, capacity %d", n, len(a), cap(a))
		}
		for i := range a {
			a[i].a = [9]uint64{1, 2, 3, 4, 5, 6, 7, 8, uint64(i)}
		}
		for i := range b {
			if b[i] != (odd{}) {
				t.Fatalf("%d: element %d of another is %v", n, i, b[i])
			}
		}
		for i := range a {
			if a[i].a[8] != uint64(i) || a[i].a[0] != 1 {
				t.Fatalf("%d: element %d is %v", n, i, a[i])
			}
		}
	}
}

// BenchmarkRandom reads 128 MiB at random, each place depending on the one before.
func BenchmarkRandom(b *testing.B) {
	const n = 1 << 20
	for name, of := range map[string]func(int) [][16]uint64{"make": func(n int) [][16]uint64 { return make([][16]uint64, n) }, "pages": Make[[16]uint64]} {
		b.Run(name, func(b *testing.B) {
			s := of(n)
			for i := range s {
				s[i][0] = 1
			}
			at := uint64(0)
			for b.Loop() {
				at = at*6_364_136_223_846_793_005 + s[at>>44][0]
			}
		})
	}
}
