package stream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// Closed windows and sessions can be asked for as long as Retain says, and no longer.
func TestRetain(t *testing.T) {
	b := stream.New("retain")
	g := source(b, "in").GroupByKey()
	kept := g.Window(window.Tumbling(100*time.Millisecond)).Count(stream.Named("kept"), stream.Retain(time.Second))
	gone := g.Window(window.Tumbling(100 * time.Millisecond)).Count(stream.Named("gone"))
	sessions := g.Session(window.Session(50*time.Millisecond)).Count(stream.Named("sessions"), stream.Retain(time.Second))
	d := streamtest.New(t, b)
	in := d.In[string, int64]("in")
	in.SendAt(millisAt(10), "k", 1)
	in.SendAt(millisAt(20), "k", 1)
	view, none, lasting := d.View(kept), d.View(gone), d.View(sessions)
	ask := func(when string, v *table.View[window.Key[string], int64], from, to int64, want int64) {
		t.Helper()
		first := millisAt(from).UnixMilli()
		n, ok, err := v.Get(t.Context(), window.Key[string]{Key: "k", Span: window.SpanMillis(first, first+to-from)})
		if err != nil || n != want || ok != (want > 0) {
			t.Errorf("%s: %d %t %v, want %d", when, n, ok, err, want)
		}
	}
	in.SendAt(millisAt(150), "j", 1) // closes everything of k
	d.Checkpoint()
	ask("kept", view, 0, 100, 2)
	ask("not kept", none, 0, 100, 0)
	ask("kept session", lasting, 10, 21, 2)
	d.Crash()
	in.SendAt(millisAt(1099), "j", 1)
	d.Checkpoint()
	ask("at the end", view, 0, 100, 2)
	in.SendAt(millisAt(1101), "j", 1)
	d.Checkpoint()
	ask("behind the end", view, 0, 100, 0)
	ask("session behind the end", lasting, 10, 21, 0)
}

func ExampleRetain() {
	b := stream.New("example")
	hours := readings(b, "in").GroupByKey().Window(window.Tumbling(time.Hour)).
		Count(stream.Retain(24 * time.Hour)) // a view of it has the windows of a day
	hours.To(memory.Collect[window.Key[string], int64]("out"))
	t := &exampleTB{}
	defer t.end()
	d := streamtest.New(t, b)
	in := d.In[string, int]("in")
	in.SendAt(noonAt(1), "a", 10)
	in.SendAt(noonAt(2), "a", 20)
	in.SendAt(noonAt(2*3600), "a", 30) // closes the first
	d.Checkpoint()
	n, ok, err := d.View(hours).Get(context.Background(), window.Key[string]{Key: "a", Span: window.Tumbling(time.Hour).Spans(noonAt(0))[0]})
	fmt.Println(n, ok, err)
	// Output: 2 true <nil>
}
