package stream_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

// graced are windows of every kind as a stream of text, with a grace.
var graced = map[string]func(in *stream.Stream[string, int64], grace time.Duration) *stream.Stream[string, string]{
	"tumbling": func(in *stream.Stream[string, int64], grace time.Duration) *stream.Stream[string, string] {
		return asText(in.GroupByKey().Window(window.Tumbling(100 * time.Millisecond).Grace(grace)).Count())
	},
	"hopping in panes": func(in *stream.Stream[string, int64], grace time.Duration) *stream.Stream[string, string] {
		return asText(in.GroupByKey().Window(window.Hopping(100*time.Millisecond, 50*time.Millisecond).Grace(grace)).Count())
	},
	"hopping in rows": func(in *stream.Stream[string, int64], grace time.Duration) *stream.Stream[string, string] {
		return asText(in.GroupByKey().Window(window.Hopping(100*time.Millisecond, 50*time.Millisecond).Grace(grace)).
			Aggregate(func() int64 { return 0 }, func(_ string, _, n int64) int64 { return n + 1 }))
	},
	"sliding": func(in *stream.Stream[string, int64], grace time.Duration) *stream.Stream[string, string] {
		return asText(in.GroupByKey().Window(window.Sliding(100 * time.Millisecond).Grace(grace)).Count())
	},
	"session": func(in *stream.Stream[string, int64], grace time.Duration) *stream.Stream[string, string] {
		return asText(in.GroupByKey().Session(window.Session(40 * time.Millisecond).Grace(grace)).Count())
	},
	"join": func(in *stream.Stream[string, int64], grace time.Duration) *stream.Stream[string, string] {
		even := in.Filter(func(_ string, v int64) bool { return v%2 == 0 })
		odd := in.Filter(func(_ string, v int64) bool { return v%2 != 0 })
		return even.OuterJoin(odd, window.Within(30*time.Millisecond).Grace(grace), outer)
	},
}

func asText(t *stream.Table[window.Key[string], int64]) *stream.Stream[string, string] {
	return t.ToStream().Map(func(k window.Key[string], n int64) (string, string) { return k.Key, fmt.Sprint(k.Span, " ", n) })
}

// A program with another grace goes on with the windows that are open: a shorter one closes them at once, and none is lost or comes
// twice. Rows of hopping windows that share panes stay out of windows that had closed, whatever the grace.
func TestGraceChangesOverARestart(t *testing.T) {
	for name, windows := range graced {
		for _, grace := range []time.Duration{0, 40 * time.Millisecond, 400 * time.Millisecond, time.Second} {
			t.Run(fmt.Sprint(name, " to ", grace), func(t *testing.T) {
				build := func(grace time.Duration) *stream.Builder {
					b := stream.New("grace")
					windows(source(b, "in"), grace).To(memory.Collect[string, string]("out"))
					return b
				}
				results := func(restart bool) []string {
					d := streamtest.New(t, build(400*time.Millisecond), streamtest.ManualCheckpoints())
					in := d.In[string, int64]("in")
					out := d.Out[string, string]("out")
					for i, at := range []int64{10, 120, 135, 300, 330, 700, 760} {
						in.SendAt(millisAt(at), fmt.Sprint("k", i%2), int64(i))
					}
					d.Checkpoint()
					if restart {
						d.Restart(build(grace))
						d.Checkpoint()
						d.Crash() // what the new grace closed is part of the checkpoint behind it
					}
					in.SendAt(millisAt(800), "k0", 8)
					in.End()
					d.Checkpoint()
					d.Checkpoint()
					return lines(out.Read())
				}
				want, got := results(false), results(true)
				if len(want) < 5 || !slices.Equal(got, want) {
					t.Errorf("%s", difference(got, want))
				}
			})
		}
	}
}

// Where closed rows stay, the grace alone says which rows have given their results. With another one they would be lost or come again.
func TestGraceOfRetainedWindowsIsPartOfTheFormat(t *testing.T) {
	build := func(grace time.Duration, opts ...stream.WindowOption) *stream.Builder {
		b := stream.New("grace")
		opts = append(opts, stream.Named("hourly"))
		source(b, "in").GroupByKey().Window(window.Tumbling(100 * time.Millisecond).Grace(grace)).Count(opts...).ToStream().
			To(memory.Collect[window.Key[string], int64]("out"))
		return b
	}
	const grace, day = 400 * time.Millisecond, 24 * time.Hour
	for name, c := range map[string]struct {
		before, after *stream.Builder
		refused       bool
	}{
		"same":           {build(grace, stream.Retain(day)), build(grace, stream.Retain(2*day)), false},
		"shorter":        {build(grace, stream.Retain(day)), build(0, stream.Retain(day)), true},
		"longer":         {build(grace, stream.Retain(day)), build(2*grace, stream.Retain(day)), true},
		"not retained":   {build(grace, stream.Retain(day)), build(grace), true},
		"retained now":   {build(grace), build(grace, stream.Retain(day)), true},
		"every update":   {build(grace, stream.Retain(day), stream.OnUpdate), build(0, stream.Retain(day), stream.OnUpdate), false},
		"final from now": {build(grace, stream.Retain(day), stream.OnUpdate), build(grace, stream.Retain(day)), true},
	} {
		t.Run(name, func(t *testing.T) {
			d := streamtest.New(t, c.before)
			d.In[string, int64]("in").SendAt(millisAt(10), "k", 1)
			d.Checkpoint()
			d.Restart(c.after)
			err := d.Err()
			if refused := errors.Is(err, stream.ErrFormat) || errors.Is(err, state.ErrFormat); refused != c.refused || refused && !strings.Contains(err.Error(), "hourly") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A longer grace opens no window of panes again that had closed by the old one: what comes for it is late, and what comes for it and for one that
// is open is in that one alone. So each window comes out once, whether rows lay in its group or not.
func TestLongerGraceLeavesPanesClosed(t *testing.T) {
	build := func(grace time.Duration) *stream.Builder {
		b := stream.New("grace")
		w := source(b, "in").GroupByKey().Window(window.Hopping(100*time.Millisecond, 50*time.Millisecond).Grace(grace))
		w.Late().MapValues(func(v int64) string { return fmt.Sprint("late ", v) }).To(memory.Collect[string, string]("late"))
		w.AggregateMerge(func() []int64 { return nil },
			func(_ string, v int64, r []int64) []int64 { return append(r, v) },
			func(_ string, a, b []int64) []int64 { return append(a, b...) }).
			ToStream().Map(func(k window.Key[string], vs []int64) (string, string) {
			start, end := k.Span.Millis()
			base := millisAt(0).UnixMilli()
			slices.Sort(vs)
			return k.Key, fmt.Sprint(start-base, "-", end-base, " ", vs)
		}).To(memory.Collect[string, string]("out"))
		return b
	}
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash ", crash), func(t *testing.T) {
			d := streamtest.New(t, build(0), streamtest.ManualCheckpoints())
			in, out, late := d.In[string, int64]("in"), d.Out[string, string]("out"), d.Out[string, string]("late")
			for _, at := range []int64{10, 60, 110, 130} { // which closes what ends up to 100
				in.SendAt(millisAt(at), "k", at)
			}
			d.Checkpoint()
			d.Restart(build(400 * time.Millisecond))
			if crash {
				d.Crash()
			}
			in.SendAt(millisAt(20), "k", 20)
			in.SendAt(millisAt(70), "k", 70)
			in.SendAt(millisAt(80), "new", 80)
			in.SendAt(millisAt(120), "k", 120)
			if crash {
				d.Checkpoint()
				d.Crash()
			}
			in.SendAt(millisAt(30), "k", 30)
			in.End()
			d.Checkpoint()
			d.Checkpoint()
			var got []string
			for _, r := range append(late.Read(), out.Read()...) {
				got = append(got, r.Key+" "+r.Value)
			}
			want := []string{"k late 20", "k late 30", "k -50-50 [10]", "k 0-100 [10 60]",
				"k 50-150 [60 70 110 120 130]", "new 50-150 [80]", "k 100-200 [110 120 130]"}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
