package stream_test

import (
	"context"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// A flood is a source that costs next to nothing: n records, made where they are decoded.
type flood struct {
	name string
	n    int
	make func(i int, r *stream.Record[int64, int64])
}

func (s flood) Name() string                                           { return s.name }
func (s flood) Partitions(context.Context, connector.Env) (int, error) { return 1, nil }
func (s flood) Open(_ context.Context, _ connector.Env, _ int, _ connector.Position) (connector.Reader[int64, int64], error) {
	return &flooding{s: s}, nil
}

type flooding struct {
	s  flood
	at int
}

func (r *flooding) Next(context.Context) (connector.Batch[int64, int64], error) {
	n := min(1024, r.s.n-r.at)
	if n == 0 {
		return nil, io.EOF
	}
	r.at += n
	return flooded{r.s, r.at - n, n}, nil
}

func (r *flooding) Close() error { return nil }

type flooded struct {
	s     flood
	first int
	n     int
}

func (b flooded) Len() int { return b.n }
func (b flooded) Decode(i int, r *stream.Record[int64, int64]) error {
	b.s.make(b.first+i, r)
	return nil
}
func (b flooded) Raw(int) (key, value []byte)       { return nil, nil }
func (b flooded) Position(i int) connector.Position { return "1" }
func (b flooded) End() connector.Position           { return "1" }
func (b flooded) State() connector.ReadState        { return connector.ReadState{More: true} }
func (b flooded) Release()                          {}
func (b flooded) Bytes() int                        { return 64 * b.n }

// cpu is the processor's time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// flow runs a topology to its end, and reports and returns the processor's time.
func flow(b *testing.B, build func(bl *stream.Builder, n int)) time.Duration {
	b.ReportAllocs()
	bl := stream.New("bench")
	build(bl, b.N)
	app, err := bl.Build(stream.Config{State: state.InMemory(), MemoryBytes: 2 << 30, CheckpointInterval: 5 * time.Second, StopTimeout: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	before := cpu()
	b.ResetTimer()
	if err := app.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
	took := cpu() - before
	b.ReportMetric(float64(took)/float64(b.N), "cpu-ns/op")
	return took
}

// flooded is a stream of keys in no order, spread of them, with perSecond records in a second of event time.
func floodOf(bl *stream.Builder, name string, n, keys, perSecond int) *stream.Stream[int64, int64] {
	return bl.Source(flood{name, n, func(i int, r *stream.Record[int64, int64]) {
		h := uint64(i) * 0x9e3779b97f4a7c15
		r.Key = int64((h >> 20) % uint64(keys))
		r.Value = int64(i)
		r.Time = time.UnixMilli(1_000_000_000 + int64(i)*1000/int64(perSecond))
	}}, stream.MaxFuture(-1))
}

func drain[K, V any](s *stream.Stream[K, V]) {
	s.ForEach(func(stream.Record[K, V]) error { return nil })
}

const million = 1_000_000

// The source and the sink alone.
func BenchmarkNothing(b *testing.B) {
	flow(b, func(bl *stream.Builder, n int) { drain(floodOf(bl, "in", n, million, million)) })
}

// Each key has about as many records in a window as the name says.
func BenchmarkTumblingCount(b *testing.B) {
	for name, seconds := range map[string]int{"dense": 10, "sparse": 1} {
		b.Run(name, func(b *testing.B) {
			flow(b, func(bl *stream.Builder, n int) {
				drain(floodOf(bl, "in", n, million, million).GroupByKey().Window(window.Tumbling(time.Duration(seconds) * time.Second)).Count().ToStream())
			})
		})
	}
}

func BenchmarkHoppingCount(b *testing.B) {
	for name, keys := range map[string]int{"dense": 100_000, "sparse": million} {
		b.Run(name, func(b *testing.B) {
			flow(b, func(bl *stream.Builder, n int) {
				drain(floodOf(bl, "in", n, keys, million/2).GroupByKey().Window(window.Hopping(10*time.Second, 2*time.Second)).Count().ToStream())
			})
		})
	}
}

// Keys come in turns: a thousand at a time have records for ten seconds, then pause.
func BenchmarkSessionCount(b *testing.B) {
	flow(b, func(bl *stream.Builder, n int) {
		s := bl.Source(flood{"in", n, func(i int, r *stream.Record[int64, int64]) {
			h := uint64(i) * 0x9e3779b97f4a7c15
			group := i / 10_000 % 1000
			r.Key = int64(group*1000) + int64((h>>20)%1000)
			r.Time = time.UnixMilli(1_000_000_000 + int64(i)/10)
		}}, stream.MaxFuture(-1))
		drain(s.GroupByKey().Session(window.Session(5 * time.Second)).Count().ToStream())
	})
}

// Two streams of 100 k keys; each record matches about one.
func BenchmarkJoinOfStreams(b *testing.B) {
	for _, kind := range []string{"inner", "outer"} {
		b.Run(kind, func(b *testing.B) {
			flow(b, func(bl *stream.Builder, n int) {
				const keys = 100_000
				left, right := floodOf(bl, "left", n/2, keys, keys), floodOf(bl, "right", n/2, keys, keys)
				w := window.Within(500 * time.Millisecond)
				if kind == "inner" {
					drain(left.Join(right, w, func(a, b int64) int64 { return a + b }))
					return
				}
				drain(left.OuterJoin(right, w, func(a, b int64, _ stream.Match) int64 { return a + b }))
			})
		})
	}
}
