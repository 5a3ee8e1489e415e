package state

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRunAgainstMap: sorted, of each key the last, whatever the keys have in common: many and few, most of them alike or only the first of them, with the beginning
// of the others or an end that only zeros tell from it, and again when more has come after it was sorted.
func TestRunAgainstMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 7))
	var r Run
	for round := range 300 {
		r.Reset()
		model := map[string]string{}
		prefix, later := strings.Repeat("prefix", rnd.IntN(3)), strings.Repeat("pre", rnd.IntN(4))
		n, turn := rnd.IntN(600)*(1+9*(round%2)), rnd.IntN(3000)
		r.Grow(rnd.IntN(300), rnd.IntN(30), rnd.IntN(3000))
		for i := range n {
			k := prefix + strings.Repeat("\x00", rnd.IntN(12)) + strings.Repeat("k", rnd.IntN(3)) + fmt.Sprint(rnd.IntN(20))
			if round%3 == 0 {
				k = prefix + fmt.Sprintf("%0*d", 1+round%20, rnd.IntN(3000))
			}
			if i > turn {
				k = later + k[len(prefix):]
			}
			if rnd.IntN(40) == 0 {
				k = prefix[:rnd.IntN(len(prefix)+1)] + strings.Repeat("\xff", rnd.IntN(2))
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
			if i == n/2 {
				sameRows(t, round, &r, model)
			}
		}
		sameRows(t, round, &r, model)
		for range r.Sorted() { // a reader that stops
			break
		}
		sameRows(t, round, &r, model)
	}
}

func sameRows(t *testing.T, round int, r *Run, model map[string]string) {
	t.Helper()
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
	if allocs > 4 {
		t.Errorf("%v allocations for %d rows, want four: room was made", allocs, rows)
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
	var sum byte
	for b.Loop() {
		r.Reset()
		r.Put([]byte("counts/3\x00\x01\x02clicks\x00\x01\x00place"), k) // as a restore does
		for i := range n {
			k = fmt.Appendf(k[:0], "counts/3\x00\x01\x02clicks\x00\x01\x01key-%06d", uint64(i)*2_654_435_761%n)
			r.Put(k, k[:8])
		}
		for k, v := range r.Sorted() { // whoever takes them reads them
			sum += k[len(k)-1]
			if len(v) > 0 {
				sum += v[0]
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
