package stream_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

func TestCountByKey(t *testing.T) {
	out := memory.Collect[string, int64]("out")
	b := stream.New("count")
	b.Source(memory.From("in", numbers(10_000))).
		GroupBy(func(_ string, v int64) string { return fmt.Sprint(v % 7) }, stream.Partitions(3)).
		Count().
		To(out)
	app, err := b.Build(stream.Config{State: state.InMemory(), CheckpointInterval: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	last := map[string]int64{}
	for _, r := range out.Records() {
		last[r.Key] = r.Value
	}
	if len(last) != 7 || last["0"] != 1429 || last["6"] != 1428 {
		t.Errorf("got %v", last)
	}
}

func many(n int) iter.Seq[stream.Record[int64, int64]] {
	return func(yield func(stream.Record[int64, int64]) bool) {
		tm := time.UnixMilli(1)
		for i := range n {
			if !yield(stream.Record[int64, int64]{Key: int64(i*7919) % 1_000_000, Value: int64(i), Time: tm}) {
				return
			}
		}
	}
}

func BenchmarkChain(b *testing.B) {
	for _, ops := range []int{1, 3, 10} {
		b.Run(fmt.Sprint(ops), func(b *testing.B) {
			bl := stream.New("x")
			s := bl.Source(memory.From("in", many(b.N)))
			for range ops {
				s = s.MapValues(func(v int64) int64 { return v + 1 })
			}
			s.ForEach(func(stream.Record[int64, int64]) error { return nil })
			app, err := bl.Build(stream.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := app.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkCount(b *testing.B) {
	bl := stream.New("x")
	bl.Source(memory.From("in", many(b.N))).GroupByKey().Count().ToStream().ForEach(func(stream.Record[int64, int64]) error { return nil })
	app, err := bl.Build(stream.Config{State: state.InMemory()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := app.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
}
