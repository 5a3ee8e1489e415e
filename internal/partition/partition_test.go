package partition_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/partition"
)

// The values are those of the Java client's own test of its hash.
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := partition.Murmur2([]byte(key)); got != want {
			t.Errorf("Murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}

// A client that we did not write must agree for keys of every length, of high bytes, and for every count.
func TestOfAgreesWithAnotherClient(t *testing.T) {
	other := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for n := range 300 {
		key := make([]byte, n)
		for i := range key {
			key[i] = byte(i*37 + n*101)
		}
		for _, count := range []int32{1, 3, 4, 17, 1000} {
			got, want := partition.Of(key, count), int32(other.Partition(&kgo.Record{Key: key}, int(count)))
			if got != want {
				t.Fatalf("Of(%d bytes, %d) = %d, franz-go says %d", n, count, got, want)
			}
		}
	}
}

func BenchmarkOf(b *testing.B) {
	key := []byte("a-key-of-24-bytes-length")
	b.ReportAllocs()
	for b.Loop() {
		partition.Of(key, 12)
	}
}
