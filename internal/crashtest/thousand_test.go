package crashtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
)

// thousand is a running sum over a thousand ones in each partition, every sum emitted, in twenty checkpoints.
func thousand() scenario {
	const ones = 1000
	s := scenario{name: "thousand", build: count, disk: true, chunk: partitions * ones / 20}
	want, of := map[string]int64{}, make([]string, partitions)
	for i := 0; len(want) < partitions; i++ {
		k := fmt.Sprint("k", i)
		if p := partition.Of([]byte(k), partitions); of[p] == "" {
			of[p], want[k] = k, ones
		}
	}
	for i := range ones {
		for p, k := range of {
			r := wire.Record{Key: []byte(k), Value: []byte("1"), Time: eventTime.Add(time.Duration(i) * time.Second).UnixMilli()}
			s.input = append(s.input, given{wire.TopicPartition{Topic: "in", Partition: int32(p)}, r})
		}
	}
	s.check = func(out oracle.Records, _ *world) error {
		for p, k := range of {
			if n := len(out[int32(p)]); n != ones {
				return fmt.Errorf("partition %d has %d sums of %s, want %d", p, n, k, ones)
			}
		}
		return oracle.Counts(out, want, serde.Int64.Decode)
	}
	return s
}

// A point of a checkpoint is one of the steps of an undisturbed run, and what happens at it.
type point struct {
	name string
	step int
	fate faults.Fate
}

// pointsOf are those of the checkpoint that ends with the n-th commit.
func pointsOf(kinds []faults.Kind, n int) []point {
	end, before := -1, 0
	for i, k := range kinds {
		if k == faults.EndTxn {
			if n--; n == 0 {
				end = i
				break
			}
			before = i
		}
	}
	flush := before + 1 + slices.Index(kinds[before+1:], faults.Produce)
	offsets := flush + slices.Index(kinds[flush:], faults.TxnOffsets)
	write := end + slices.Index(kinds[end:], faults.Write)
	return []point{
		{"before the flush", flush, faults.Fate{Kill: true}},
		{"behind the flush", offsets, faults.Fate{Kill: true}},
		{"the commit's answer lost", end, faults.Fate{Lose: true}},
		{"killed behind the commit", end, faults.Fate{KillDone: true}},
		{"behind the commit, before the database", write, faults.Fate{Kill: true}},
	}
}

// TestThousandSums: the committed output of each partition is exactly 1 to 1000, in this order, whenever the process is killed or does not hear of its
// commit, once and twice in a row; no transaction is left open.
func TestThousandSums(t *testing.T) {
	s := thousand()
	kinds := stepsOf(t, s)
	for _, n := range []int{2, 10, 19} {
		for _, m := range pointsOf(kinds, n) {
			for _, next := range []int{0, 1, 3, 9} { // steps until it is killed once more
				at, met := -1, false
				err := run(s, 0, faults.JudgeFunc(func(r faults.Request) (f faults.Fate) {
					switch at++; {
					case at == m.step:
						f, met = m.fate, r.Kind == kinds[at]
					case next > 0 && at == m.step+next:
						f.Kill = true
					}
					return f
				}))
				if err != nil || !met {
					t.Errorf("checkpoint %d, %s, once more after %d steps: met %v, %v", n, m.name, next, met, err)
				}
			}
		}
	}
}
