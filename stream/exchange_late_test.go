package stream_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

// What is late behind an exchange is what would be late before it, wherever batches and checkpoints end.
func TestLateBehindAnExchange(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	events := disordered(r, 700, 6, 40, 900)
	given := func(yield func(stream.Record[string, int64]) bool) {
		for _, e := range events {
			if !yield(stream.Record[string, int64]{Key: e.key, Value: e.value, Time: time.UnixMilli(e.at)}) {
				return
			}
		}
	}
	late := func(group func(s *stream.Stream[string, int64]) *stream.Grouped[string, int64], exchange stream.Exchange, each int) []string {
		b := stream.New("late")
		in := b.Source(memory.From("in", given), stream.MaxFuture(-1))
		w := group(in).Window(window.Tumbling(100 * time.Millisecond).Grace(150 * time.Millisecond))
		w.Late().To(memory.Collect[string, int64]("out"))
		w.Count().ToStream().To(memory.Collect[window.Key[string], int64]("counts"))
		d := streamtest.New(t, b, streamtest.ManualCheckpoints(), streamtest.Config(func(c *stream.Config) { c.Exchange = exchange }))
		out := d.Out[string, int64]("out")
		if each > 0 { // record by record instead of in one batch
			to := d.In[string, int64]("in")
			for i, e := range events {
				to.SendAt(time.UnixMilli(e.at), e.key, e.value)
				if i%each == 0 {
					d.Advance(time.Second)
					d.Checkpoint()
				}
			}
			to.End()
		}
		for range 4 {
			d.Advance(time.Second)
			d.Checkpoint()
		}
		if err := d.Err(); err != nil {
			t.Fatal(err)
		}
		return lines(out.Read())
	}
	byKey := func(s *stream.Stream[string, int64]) *stream.Grouped[string, int64] { return s.GroupByKey() }
	anew := func(s *stream.Stream[string, int64]) *stream.Grouped[string, int64] {
		return s.GroupBy(func(k string, _ int64) string { return k })
	}
	want := late(byKey, stream.Local, 0)
	if len(want) < 50 || len(want) > 650 {
		t.Fatalf("%d of %d are late without an exchange", len(want), len(events))
	}
	for _, exchange := range []stream.Exchange{stream.Local, stream.Kafka} {
		for _, each := range []int{0, 1, 7, 1000} {
			t.Run(fmt.Sprintf("exchange %d, a checkpoint for each %d", exchange, each), func(t *testing.T) {
				if got := late(anew, exchange, each); !slices.Equal(got, want) {
					t.Error(difference(got, want))
				}
			})
		}
	}
}
