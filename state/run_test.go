package state

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRunAgainstMap: sorted, of each key the last, whatever the keys have in common.
func TestRunAgainstMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 7))
	var r Run
	for round := range 200 {
		r.Reset()
		model := map[string]string{}
		prefix := strings.Repeat("prefix", rnd.IntN(3))
		r.Grow(rnd.IntN(300), rnd.IntN(30), rnd.IntN(3000))
		for i := range rnd.IntN(300) {
			k := prefix + strings.Repeat("\x00", rnd.IntN(12)) + strings.Repeat("k", rnd.IntN(3)) + fmt.Sprint(rnd.IntN(20))
			if rnd.IntN(10) == 0 {
				k = prefix
			}
			switch rnd.IntN(4) {
			case 0:
				r.Delete([]byte(k))
				model[k] = "deleted"
			case 1:
				r.Put([]byte(k), nil)
				model[k] = "="
			default:
				v := fmt.Sprint(i)
				r.Put([]byte(k), []byte(v))
				model[k] = "=" + v
			}
		}
		var got []string
		for k, v := range r.Sorted() {
			got = append(got, string(k))
			if v == nil && model[string(k)] != "deleted" || v != nil && model[string(k)] != "="+string(v) {
				t.Fatalf("round %d: %q = %q (nil: %v), want %q", round, k, v, v == nil, model[string(k)])
			}
		}
		if want := slices.Sorted(maps.Keys(model)); !slices.Equal(got, want) {
			t.Fatalf("round %d: keys %q, want %q", round, got, want)
		}
	}
}

// TestRunGrow: rows that room was made for cost no memory.
func TestRunGrow(t *testing.T) {
	const rows = 1000
	key, value := []byte("12345678"), []byte("12")
	allocs := testing.AllocsPerRun(10, func() {
		var r Run
		r.Grow(rows, 10, 1<<20)
		for range rows {
			r.Put(key, value)
		}
	})
	if allocs > 2 {
		t.Errorf("%v allocations for %d rows, want two: room was made", allocs, rows)
	}
	var r Run
	r.Grow(rows, 10, 3400)
	if got := cap(r.rows)*runRowBytes + cap(r.data); got > 4500 {
		t.Errorf("room for %d bytes, want 3,400 and what the allocator adds", got)
	}
}

func BenchmarkRun(b *testing.B) {
	const n = 500_000
	var r Run
	var k []byte
	for b.Loop() {
		r.Reset()
		r.Put([]byte("counts/3\x00\x01\x02clicks\x00\x01\x00place"), k) // as a restore does
		for i := range n {
			k = fmt.Appendf(k[:0], "counts/3\x00\x01\x02clicks\x00\x01\x01key-%06d", uint64(i)*2_654_435_761%n)
			r.Put(k, k[:8])
		}
		for range r.Sorted() {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
