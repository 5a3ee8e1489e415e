package stream_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

// overlapping are windows whose panes are as long as they advance, and shorter.
var overlapping = []window.Spec{
	window.Hopping(time.Second, 200*time.Millisecond).Grace(300 * time.Millisecond),
	window.Hopping(time.Second, 300*time.Millisecond),
	window.Hopping(90*time.Millisecond, 60*time.Millisecond).Grace(40 * time.Millisecond).Offset(7 * time.Millisecond),
	window.Hopping(2*time.Second, 50*time.Millisecond).Grace(100 * time.Millisecond),
}

// Windows that share panes have the results of windows with a row each, late records included, in every setting.
func TestPanesAreTheWindowsTheyCut(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	events := disordered(r, 700, 9, 40, 300)
	list := func(_ string, v int64, r []int64) []int64 { return append(r, v) }
	none := func() []int64 { return nil }
	join := func(_ string, a, b []int64) []int64 { return append(a, b...) }
	for _, w := range overlapping {
		t.Run(w.String(), func(t *testing.T) {
			for _, s := range settings() {
				got := run[string, string](t, s, func(b *stream.Builder) {
					windows := source(b, "in").GroupByKey().Window(w)
					out := told("panes", windows.AggregateMerge(none, list, join, stream.Named("shared")))
					out = out.Merge(told("rows", windows.Aggregate(none, list, stream.Named("own"))),
						told("late", windows.Count(stream.Named("count")).MapValues(func(int64) []int64 { return nil })))
					out.To(memory.Collect[string, string]("out"))
				}, map[string][]event{"in": events})
				panes, rows, counts := only("panes", got), only("rows", got), only("late", got)
				if len(rows) < 100 || len(counts) != len(rows) || !slices.Equal(panes, rows) {
					t.Fatalf("%v: %d counts, %s", s, len(counts), difference(panes, rows))
				}
			}
		})
	}
}

// told is a table's output as text, behind the name of who says it.
func told(who string, t *stream.Table[window.Key[string], []int64]) *stream.Stream[string, string] {
	return t.ToStream().Map(func(k window.Key[string], vs []int64) (string, string) {
		slices.Sort(vs)
		return who, fmt.Sprint(k, vs)
	})
}

// only are the lines of one.
func only(who string, rs []stream.Record[string, string]) (out []string) {
	for _, r := range rs {
		if r.Key == who {
			out = append(out, fmt.Sprint(r.Time.UnixMilli(), " ", r.Value))
		}
	}
	slices.Sort(out)
	return out
}

// A record whose fold fails leaves its pane as it was, and a window whose panes cannot be put together is rejected alone.
func TestPanesSurviveWhatFails(t *testing.T) {
	b := stream.New("fails")
	bad := errors.New("bad")
	add := func(_ string, v int64, r []int64) []int64 {
		r = append(r, v)
		if v == 13 {
			stream.Reject(bad)
		}
		return r
	}
	join := func(_ string, x, y []int64) []int64 {
		if slices.Contains(y, 7) {
			stream.Reject(bad)
		}
		return append(x, y...)
	}
	source(b, "in").GroupByKey().Window(window.Hopping(100*time.Millisecond, 50*time.Millisecond)).
		AggregateMerge(func() []int64 { return nil }, add, join, stream.OnError(stream.Skip)).
		ToStream().To(memory.Collect[window.Key[string], []int64]("out"))
	d := streamtest.New(t, b)
	in, out := d.In[string, int64]("in"), d.Out[window.Key[string], []int64]("out")
	in.SendAt(millisAt(10), "k", 1)
	in.SendAt(millisAt(20), "k", 13) // rejected
	in.SendAt(millisAt(60), "k", 7)  // cannot be put behind 1
	in.SendAt(millisAt(70), "k", 2)
	in.End()
	d.Checkpoint()
	var got []string
	for _, r := range out.Read() {
		start, end := r.Key.Span.Millis()
		got = append(got, fmt.Sprint(start-millisAt(0).UnixMilli(), "-", end-millisAt(0).UnixMilli(), r.Value))
	}
	if want := "-50-50 [1] 50-150 [7 2]"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is asked for of windows in panes is what they have so far, and nothing once they have closed; with a crash between.
func TestPanesCanBeAskedFor(t *testing.T) {
	b := stream.New("ask")
	counts := source(b, "in").GroupByKey().Window(window.Hopping(300*time.Millisecond, 100*time.Millisecond).Grace(250 * time.Millisecond)).Count()
	d := streamtest.New(t, b)
	in := d.In[string, int64]("in")
	view := d.View(counts)
	base := millisAt(0).UnixMilli()
	key := func(start int64) window.Key[string] {
		return window.Key[string]{Key: "k", Span: window.SpanMillis(base+start, base+start+300)}
	}
	check := func(when, want string) {
		t.Helper()
		d.Checkpoint()
		var all, some []string
		for row, err := range view.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if start, _ := row.Key.Span.Millis(); row.Key.Key == "k" {
				all = append(all, fmt.Sprint(start-base, ":", row.Value, "@", row.Time.UnixMilli()-base))
			}
		}
		for row, err := range view.Range(t.Context(), key(-1000), key(5000)) {
			start, _ := row.Key.Span.Millis()
			some = append(some, fmt.Sprint(start-base, ":", row.Value, "@", row.Time.UnixMilli()-base))
			if err != nil {
				t.Fatal(err)
			}
		}
		for start := int64(-1000); start < 2000; start += 100 {
			n, ok, err := view.Get(t.Context(), key(start))
			if err != nil {
				t.Fatal(err)
			}
			if ok != strings.Contains(" "+want, fmt.Sprint(" ", start, ":", n, "@")) {
				t.Errorf("%s: %d: %d, %t", when, start, n, ok)
			}
		}
		slices.Sort(all)
		slices.Sort(some)
		for _, got := range [][]string{all, some} {
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
	}
	in.SendAt(millisAt(10), "k", 1)
	in.SendAt(millisAt(20), "k", 1)
	in.SendAt(millisAt(150), "k", 1)
	check("at first", "-100:3@150 -200:2@20 0:3@150 100:1@150")
	in.SendAt(millisAt(360), "k", 1) // closes [-200, 100)
	d.Crash()
	check("after a crash", "-100:3@150 0:3@150 100:2@360 200:1@360 300:1@360")
	in.SendAt(millisAt(350), "k", 1)
	in.SendAt(millisAt(160), "k", 1)
	in.SendAt(millisAt(780), "j", 1) // closes up to [200, 500)
	check("later", "300:2@360")
}
