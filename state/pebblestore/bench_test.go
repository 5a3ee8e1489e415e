package pebblestore

import (
	"encoding/binary"
	"flag"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

var large = flag.Bool("large", false, "also run benchmarks with 10 M keys")

func sizes() []int {
	if *large {
		return []int{1_000_000, 10_000_000}
	}
	return []int{1_000_000}
}

var prefix = keys.Rows("counts/3", "clicks-count")

// cpuTime is what this process has used, Pebble's goroutines included: the machine may be shared.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func perOp(b *testing.B, since time.Duration, n int, unit string) {
	b.ReportMetric(float64(cpuTime()-since)/float64(n), unit)
}

// counter yields n rows as a restore of a counting store does, in order.
func counter(n int) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		k := append([]byte(nil), prefix...)
		var v []byte
		for i := range n {
			k = binary.BigEndian.AppendUint64(k[:len(prefix)], uint64(i))
			v = binary.BigEndian.AppendUint64(v[:0], uint64(i)*2654435761%100_000)
			if !yield(k, v) {
				return
			}
		}
	}
}

func shuffled(dst []byte, i, n int) []byte {
	return binary.BigEndian.AppendUint64(dst[:0], (uint64(i)*0x9E3779B97F4A7C15>>20)%uint64(n))
}

func ingestAll(b *testing.B, db state.DB, n int) {
	if err := db.(state.Ingester).Ingest(b.Context(), prefix, keys.End(prefix), counter(n)); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkIngest is the end of a restore: rows in order to tables on disk.
func BenchmarkIngest(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := open(b, New(), b.TempDir(), state.Settings{})
			defer db.Close()
			cpu := cpuTime()
			for b.Loop() {
				ingestAll(b, db, n)
			}
			perOp(b, cpu, b.N*n, "cpu-ns/row")
			b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(db.(state.Reporter).Stats().DiskBytes)/float64(n), "B/row")
		})
	}
}

// BenchmarkRestore puts the rows of a changelog, in random order, into an empty store, with all compactions that follow: as sorted
// tables of 16 MiB, and as batches.
func BenchmarkRestore(b *testing.B) {
	for _, n := range sizes() {
		for _, bulk := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d/tables=%v", n, bulk), func(b *testing.B) {
				cpu := cpuTime()
				for b.Loop() {
					db := open(b, New(), b.TempDir(), state.Settings{})
					restore(b, db, n, bulk)
					if err := db.Close(); err != nil {
						b.Fatal(err)
					}
				}
				perOp(b, cpu, b.N*n, "cpu-ns/row")
				b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func restore(b *testing.B, db state.DB, n int, bulk bool) {
	const most = 16 << 20
	var run state.Run
	var batch state.Batch
	var k, v []byte
	for i := range n {
		v = shuffled(v, i, n)
		k = append(append(k[:0], prefix...), v...)
		var err error
		if bulk {
			if run.Put(k, v); run.Bytes() >= most || i == n-1 {
				err = db.(state.Ingester).Ingest(b.Context(), nil, nil, run.Sorted())
				run.Reset()
			}
		} else if batch.Put(k, v); batch.Bytes() >= most/4 || i == n-1 {
			err = db.Apply(&batch, false)
			batch.Reset()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGet reads keys in an order that no cache can guess, there and not there.
func BenchmarkGet(b *testing.B) {
	for _, n := range sizes() {
		db := open(b, New(CacheBytes(32<<20)), b.TempDir(), state.Settings{})
		ingestAll(b, db, n)
		for _, c := range []struct {
			name string
			tail []byte
		}{{"there", nil}, {"absent", []byte{1}}} {
			b.Run(fmt.Sprintf("%d/%s", n, c.name), func(b *testing.B) {
				var k, tail []byte
				i, cpu := 0, cpuTime()
				for b.Loop() {
					tail = shuffled(tail, i, n)
					k = append(append(append(k[:0], prefix...), tail...), c.tail...)
					found, err := db.Get(k, func([]byte) error { return nil })
					if err != nil || found != (c.tail == nil) {
						b.Fatal(found, err)
					}
					i++
				}
				perOp(b, cpu, b.N, "cpu-ns/op")
			})
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCountByKey is a counting operator with its checkpoints and a cache too small for its keys: a checkpoint
// every 100,000 records, applied while the next is counted.
func BenchmarkCountByKey(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			memory := n * 90 / 4 // a quarter of what the keys need as entries
			db := open(b, New(), b.TempDir(), state.Settings{MemoryBytes: int64(memory)})
			defer db.Close()
			ingestAll(b, db, n)
			s := overlay.New(overlay.Config[int64]{Name: "counts", DB: db, Prefix: prefix, Serde: serde.Int64, Plain: true, LimitBytes: memory / 2})
			const interval = 100_000
			applied := make(chan error, 1)
			applied <- nil
			var k []byte
			i, cpu := 0, cpuTime()
			for b.Loop() {
				k = shuffled(k, i, n)
				e := s.Entry(k)
				s.Set(e, e.Value+1)
				if i++; i%interval != 0 {
					continue
				}
				if err := <-applied; err != nil {
					b.Fatal(err)
				}
				done := uint64(i / interval)
				s.Applied(done - 1)
				d, err := s.Freeze(done)
				if err != nil {
					b.Fatal(err)
				}
				go func() {
					var batch state.Batch
					d.AddTo(&batch)
					applied <- db.Apply(&batch, false)
				}()
			}
			if err := <-applied; err != nil {
				b.Fatal(err)
			}
			perOp(b, cpu, b.N, "cpu-ns/op")
			b.ReportMetric(float64(s.Stats().Reads)/float64(b.N), "reads/op")
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapInuse)/(1<<20), "heap-MiB")
			b.ReportMetric(float64(memory)/(1<<20), "budget-MiB")
		})
	}
}

// BenchmarkApply writes 10,000 rows a batch, in an order that makes compactions work.
func BenchmarkApply(b *testing.B) {
	const n, rows = 1_000_000, 10_000
	for name, sync := range map[string]bool{"unsynced": false, "synced": true} {
		b.Run(name, func(b *testing.B) {
			db := open(b, New(), b.TempDir(), state.Settings{Synced: sync})
			defer db.Close()
			var i atomic.Int64
			var k, v []byte
			cpu := cpuTime()
			for b.Loop() {
				var batch state.Batch
				for range rows {
					v = shuffled(v, int(i.Add(1)), n)
					k = append(append(k[:0], prefix...), v...)
					batch.Put(k, v)
				}
				if err := db.Apply(&batch, sync); err != nil {
					b.Fatal(err)
				}
			}
			perOp(b, cpu, b.N*rows, "cpu-ns/row")
		})
	}
}
