package stream_test

import (
	"context"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// What a record may allocate on its way. Keys are hot, and no checkpoint falls into the run: what is left is the chain, the
// rows and the windows themselves. A benchmark shows what it costs in time; this fails when a change makes garbage per record.
func TestAllocationsPerRecord(t *testing.T) {
	const keys, perSecond = 500, 10_000
	in := func(bl *stream.Builder, n int) *stream.Stream[int64, int64] {
		return floodOf(bl, "in", n, keys, perSecond)
	}
	for _, c := range []struct {
		name  string
		most  float64
		build func(bl *stream.Builder, n int)
	}{
		{"chain of ten", 0.01, func(bl *stream.Builder, n int) {
			s := in(bl, n)
			for range 10 {
				s = s.MapValues(func(v int64) int64 { return v + 1 })
			}
			drain(s.Filter(func(_, v int64) bool { return v >= 0 }))
		}},
		{"count", 0.01, func(bl *stream.Builder, n int) { drain(in(bl, n).GroupByKey().Count(stream.OnUpdate).ToStream()) }},
		{"reduce", 0.01, func(bl *stream.Builder, n int) {
			drain(in(bl, n).GroupByKey().Reduce(func(a, b int64) int64 { return a + b }, stream.OnUpdate).ToStream())
		}},
		{"count by another key", 0.05, func(bl *stream.Builder, n int) {
			drain(in(bl, n).GroupBy(func(_, v int64) int64 { return v % keys }).Count(stream.OnUpdate).ToStream())
		}},
		// A window of a second has 20 records of each key.
		{"tumbling", 0.05, func(bl *stream.Builder, n int) {
			drain(in(bl, n).GroupByKey().Window(window.Tumbling(time.Second)).Count().ToStream())
		}},
		{"hopping by five", 0.05, func(bl *stream.Builder, n int) {
			drain(in(bl, n).GroupByKey().Window(window.Hopping(time.Second, 200*time.Millisecond)).Count().ToStream())
		}},
		{"session", 0.05, func(bl *stream.Builder, n int) {
			drain(in(bl, n).GroupByKey().Session(window.Session(time.Second)).Count().ToStream())
		}},
		// Twenty elements come, are read and go: Append's arguments are on the heap, and a twentieth of what a list of its own takes.
		{"list", 1.6, func(bl *stream.Builder, n int) {
			drain(in(bl, n).ProcessValues(func(p *stream.Processor[int64, int64, int64]) func(stream.Record[int64, int64]) error {
				l := p.List("l", serde.Int64)
				return func(r stream.Record[int64, int64]) error {
					if l.Append(r.Value); l.Len() == 20 {
						p.Emit(r.Key, total(l.All()))
						l.Clear()
					}
					return nil
				}
			}, stream.Named("list")))
		}},
		// What a processor is lent it may change; that this is noted must cost nothing.
		{"value that is not plain", 0.05, func(bl *stream.Builder, n int) {
			drain(in(bl, n).ProcessValues(func(p *stream.Processor[int64, int64, int64]) func(stream.Record[int64, int64]) error {
				v := p.Value("v", serde.For[[]byte]())
				return func(r stream.Record[int64, int64]) error {
					b, ok := v.Get()
					if !ok {
						b = []byte{0}
					}
					b[0]++
					v.Set(b)
					p.Emit(r.Key, int64(b[0]))
					return nil
				}
			}, stream.Named("value")))
		}},
		{"join of streams", 1.2, func(bl *stream.Builder, n int) {
			left, right := floodOf(bl, "left", n/2, keys, perSecond), floodOf(bl, "right", n/2, keys, perSecond)
			drain(left.Join(right, window.Within(25*time.Millisecond), func(a, b int64) int64 { return a + b }))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const n = 20_000
			few, many := mallocs(t, n, c.build), mallocs(t, 4*n, c.build) // what starting and stopping cost cancels out
			per := (float64(many) - float64(few)) / (3 * n)
			t.Logf("%.4f allocations per record", per)
			if per > c.most {
				t.Errorf("%.4f allocations per record, more than %v", per, c.most)
			}
		})
	}
}

func total(vs iter.Seq[int64]) (sum int64) {
	for v := range vs {
		sum += v
	}
	return sum
}

// mallocs is how many allocations a run of n records makes.
func mallocs(t *testing.T, n int, build func(bl *stream.Builder, n int)) uint64 {
	t.Helper()
	bl := stream.New("allocs")
	build(bl, n)
	app, err := bl.Build(stream.Config{State: state.InMemory(), CheckpointInterval: time.Hour, TransactionTimeout: 3 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := app.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
