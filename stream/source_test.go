package stream_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// A stream source drops nulls and counts them.
func TestNullsOfAStream(t *testing.T) {
	b := stream.New("nulls")
	b.Source(kafka.Source("in", serde.String, serde.String)).To(kafka.Sink("out", serde.String, serde.String))
	counted := counts{}
	d := streamtest.New(t, b, streamtest.Config(func(c *stream.Config) { c.Metrics = counted }))
	in, out := d.In[string, string]("in"), d.Out[string, string]("out")
	in.Delete("a")
	in.Send("a", "v")
	same(t, show(out.Read()), "a=v@0")
	if n := counted.of("weir_dropped_total", "null"); n != 1 {
		t.Errorf("counted %d: %v", n, counted)
	}
}

// A record too far ahead of the clock is a data error and does not move the watermark.
func TestMaxFuture(t *testing.T) {
	build := func(opts ...stream.SourceOption) *stream.Builder {
		b := stream.New("future")
		fed[string, int](b, "in", opts...).To(memory.Collect[string, int]("out"))
		return b
	}
	day := 24 * 60 * 60 * 1000
	t.Run("default", func(t *testing.T) {
		d := streamtest.New(t, build())
		in, out := d.In[string, int]("in"), d.Out[string, int]("out")
		in.SendRecord(rec("k", 1, day))
		same(t, show(out.Read()), fmt.Sprintf("k=1@%d", day))
		in.SendRecord(rec("k", 2, day+1))
		if err := d.Err(); !errors.Is(err, stream.ErrFuture) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("skipped", func(t *testing.T) {
		d := streamtest.New(t, build(stream.MaxFuture(time.Second), stream.OnError(stream.Skip)))
		in, out := d.In[string, int]("in"), d.Out[string, int]("out")
		in.SendRecord(rec("k", 1, 5))
		in.SendRecord(rec("k", 2, 1001))
		in.SendRecord(rec("k", 3, 6))
		same(t, show(out.Read()), "k=1@5", "k=3@6")
		if w := d.Status().Tasks[0].Watermark; !w.Equal(rec("", 0, 6).Time) {
			t.Errorf("watermark %v", w)
		}
	})
	t.Run("no bound", func(t *testing.T) {
		d := streamtest.New(t, build(stream.MaxFuture(-1)))
		in, out := d.In[string, int]("in"), d.Out[string, int]("out")
		in.SendRecord(rec("k", 1, 1000*day))
		same(t, show(out.Read()), fmt.Sprintf("k=1@%d", 1000*day))
	})
}

func TestDisorder(t *testing.T) {
	b := stream.New("disorder")
	fed[string, int](b, "in", stream.Disorder(time.Second)).To(memory.Collect[string, int]("out"))
	d := streamtest.New(t, b)
	in := d.In[string, int]("in")
	in.SendRecord(rec("k", 1, 5000))
	if w := d.Status().Tasks[0].Watermark; !w.Equal(rec("", 0, 4000).Time) {
		t.Errorf("watermark %v", w)
	}
}

// Two sources of one task are read in the order of time.
func TestSourcesAreMergedByTime(t *testing.T) {
	of := func(name string, times ...int) func(b *stream.Builder) *stream.Stream[string, int] {
		return func(b *stream.Builder) *stream.Stream[string, int] {
			return b.Source(memory.From(name, func(yield func(stream.Record[string, int]) bool) {
				for _, ms := range times {
					if !yield(rec(name, ms, ms)) {
						return
					}
				}
			}))
		}
	}
	b := stream.New("merged")
	of("a", 1, 4, 9)(b).Merge(of("b", 2, 3, 10)(b)).To(memory.Collect[string, int]("out"))
	d := streamtest.New(t, b)
	same(t, show(d.Out[string, int]("out").Read()), "a=1@1", "b=2@2", "b=3@3", "a=4@4", "a=9@9", "b=10@10")
}
