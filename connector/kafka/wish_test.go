package kafka

import (
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

// Asked for a partition from two offsets in one request, a broker answers one of them: the other reader would be given records that lie behind its
// own place, and lose what is before them.
func TestPartitionIsAskedForOnce(t *testing.T) {
	f := &fetcher{}
	at := func(p int32) wire.TopicPartition { return wire.TopicPartition{Topic: "t", Partition: p} }
	for _, c := range []struct {
		partition int32
		next      int64
	}{{0, 6}, {0, 8}, {1, 3}, {0, 2}} {
		f.cursors = append(f.cursors, &cursor{at: at(c.partition), next: c.next, high: -1, how: wire.ReadOptions{MaxBytes: 1 << 20}, share: 1 << 10})
	}
	seen := map[int64]bool{}
	for range 4 {
		wanted, _ := f.wantedLocked()
		wishes := f.wishLocked(wanted, true)
		once := map[int32]bool{}
		for _, w := range wishes {
			if once[w.at.Partition] {
				t.Errorf("partition %d is asked for twice", w.at.Partition)
			}
			once[w.at.Partition], seen[w.from] = true, true
			w.fetching = false
		}
	}
	if len(seen) != 4 {
		t.Errorf("only readers at %v had their turn in four requests", seen)
	}
}
