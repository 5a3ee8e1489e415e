package radix

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Keys come out as comparing them would have it, equal ones in the order they were in: few and many, with and without a common beginning, one the
// beginning of the other, and such that only zeros behind its end tell from it.
func TestOrder(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		n := rnd.IntN(3 * Few)
		start := bytes.Repeat([]byte("common"), rnd.IntN(4))
		keys := make([][]byte, n)
		for i := range keys {
			switch seed % 4 {
			case 0:
				keys[i] = fmt.Appendf(nil, "%s%d", start, rnd.IntN(50))
			case 1:
				keys[i] = append(slices.Clone(start), make([]byte, rnd.IntN(24))...)
			case 2:
				keys[i] = fmt.Appendf(nil, "%s%020d%s", start, rnd.IntN(2), bytes.Repeat([]byte{byte(rnd.IntN(2))}, rnd.IntN(30)))
			case 3:
				keys[i] = fmt.Appendf(nil, "%s%040d", start, rnd.IntN(1000))
			}
		}
		want := make([]uint32, n)
		for i := range want {
			want[i] = uint32(i)
		}
		slices.SortStableFunc(want, func(a, b uint32) int { return bytes.Compare(keys[a], keys[b]) })
		for i, l := range Order(n, func(i uint32) []byte { return keys[i] }) {
			if l.ID != want[i] {
				t.Fatalf("seed %d: place %d has key %q, want %q", seed, i, keys[l.ID], keys[want[i]])
			}
		}
	}
}
