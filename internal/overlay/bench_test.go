package overlay

import (
	"encoding/binary"
	"flag"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

var large = flag.Bool("large", false, "also run benchmarks with 10 M keys")

func sizes() []int {
	if *large {
		return []int{1000, 1_000_000, 10_000_000}
	}
	return []int{1000, 1_000_000}
}

// key spreads i over n keys in an order that caches cannot guess.
func key(dst []byte, i, n int) []byte {
	return binary.BigEndian.AppendUint64(dst[:0], (uint64(i)*0x9E3779B97F4A7C15>>20)%uint64(n))
}

func counts(b *testing.B, db state.DB, limit int) *Store[int64] {
	return New(Config[int64]{Name: "counts", DB: db, Prefix: prefix, Serde: serde.Int64, Plain: true, LimitBytes: limit})
}

// BenchmarkCount is count by key: one entry looked up and changed per record, all in memory.
func BenchmarkCount(b *testing.B) { benchCount(b, false) }

// BenchmarkCountAhead is BenchmarkCount by one who knows which keys come next.
func BenchmarkCountAhead(b *testing.B) { benchCount(b, true) }

func benchCount(b *testing.B, ahead bool) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := counts(b, openDB(b), 4<<30)
			var k []byte
			for i := range n {
				k = binary.BigEndian.AppendUint64(k[:0], uint64(i))
				s.Put(k, 0)
			}
			runtime.GC()
			b.ReportAllocs()
			i := 0
			cpu := cpuTime()
			for b.Loop() {
				if ahead && i%Ahead == 0 && s.Far() {
					for j := range Ahead {
						k = key(k, i+j, n)
						s.Ask(k)
					}
					s.Fetch()
				}
				k = key(k, i, n)
				e := s.Entry(k)
				s.Set(e, e.Value+1)
				i++
			}
			b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is what this process has used: the machine may be shared.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkCountInGoMap is what the store is measured against: a Go map of entries.
func BenchmarkCountInGoMap(b *testing.B) {
	type entry struct {
		value int64
		dirty bool
	}
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := map[string]*entry{}
			var k []byte
			for i := range n {
				m[string(binary.BigEndian.AppendUint64(k[:0], uint64(i)))] = &entry{}
			}
			runtime.GC()
			i := 0
			for b.Loop() {
				k = key(k, i, n)
				e := m[string(k)]
				e.value++
				e.dirty = true
				i++
			}
			b.StopTimer()
			b.ReportMetric(collect(), "ms/GC")
			runtime.KeepAlive(m)
		})
	}
}

func collect() float64 {
	runtime.GC()
	start := time.Now()
	runtime.GC()
	return float64(time.Since(start).Microseconds()) / 1000
}

// BenchmarkCollect is what a full store costs the garbage collector.
func BenchmarkCollect(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := counts(b, openDB(b), 4<<30)
			var k []byte
			for i := range n {
				k = binary.BigEndian.AppendUint64(k[:0], uint64(i))
				s.Put(k, 0)
			}
			runtime.GC()
			for b.Loop() {
				runtime.GC()
			}
			runtime.KeepAlive(s)
		})
	}
}

// BenchmarkMiss reads keys that the cache has no room for.
func BenchmarkMiss(b *testing.B) {
	const n = 1_000_000
	db := openDB(b)
	var batch state.Batch
	var k []byte
	for i := range n {
		k = binary.BigEndian.AppendUint64(append(k[:0], prefix...), uint64(i))
		batch.Put(k, k[len(prefix):])
	}
	if err := db.Apply(&batch, false); err != nil {
		b.Fatal(err)
	}
	s := counts(b, db, 1<<20)
	i := 0
	for b.Loop() {
		k = key(k, i, n)
		s.Get(k)
		i++
	}
	b.ReportMetric(float64(s.Stats().Reads)/float64(b.N), "reads/op")
}

// BenchmarkCheckpoint changes 100,000 of a million keys, freezes and applies, per key.
func BenchmarkCheckpoint(b *testing.B) {
	const n, changed = 1_000_000, 100_000
	db := openDB(b)
	s := counts(b, db, 1<<30)
	var k []byte
	i, round := 0, uint64(0)
	var took struct{ change, freeze, apply time.Duration }
	for b.Loop() {
		round++
		t0 := time.Now()
		for range changed {
			k = key(k, i, n)
			e := s.Entry(k)
			s.Set(e, e.Value+1)
			i++
		}
		t1 := time.Now()
		d := freeze(b, s, round)
		t2 := time.Now()
		apply(b, db, d)
		s.Applied(round)
		took.change += t1.Sub(t0)
		took.freeze += t2.Sub(t1)
		took.apply += time.Since(t2)
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) / changed }
	b.ReportMetric(per(took.change), "change-ns/key")
	b.ReportMetric(per(took.freeze), "freeze-ns/key")
	b.ReportMetric(per(took.apply), "apply-ns/key")
}
