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

func BenchmarkRun(b *testing.B) {
	const n = 500_000
	var r Run
	var k []byte
	for b.Loop() {
		r.Reset()
		for i := range n {
			k = fmt.Appendf(k[:0], "counts/3\x00\x01\x02clicks\x00\x01\x01%016x", uint64(i)*0x9E3779B97F4A7C15)
			r.Put(k, k[:8])
		}
		for range r.Sorted() {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
