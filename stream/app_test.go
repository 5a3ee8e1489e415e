package stream_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
)

func numbers(n int) iter.Seq[stream.Record[string, int64]] {
	return func(yield func(stream.Record[string, int64]) bool) {
		for i := range n {
			r := stream.Record[string, int64]{Key: fmt.Sprint(i % 10), Value: int64(i), Time: time.UnixMilli(int64(i))}
			if !yield(r) {
				return
			}
		}
	}
}

func TestRunEndsWithItsInputs(t *testing.T) {
	out := memory.Collect[string, int64]("out")
	b := stream.New("slice")
	b.Source(memory.From("in", numbers(10_000))).
		MapValues(func(v int64) int64 { return v + 1 }).
		SelectKey(func(k string, v int64) string { return fmt.Sprint(v % 7) }).
		Repartition(stream.Partitions(4)).
		Filter(func(_ string, v int64) bool { return v%2 == 0 }).
		To(out)
	app, err := b.Build(stream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := len(out.Records()); n != 5000 {
		t.Errorf("got %d records, want 5000", n)
	}
}
