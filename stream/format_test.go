package stream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/window"
)

// TestAnEmptyDiskKnowsHowStateWasWritten restarts with another serde. The state is in memory, so the restart restores from the changelog,
// and must find the formats there too.
func TestAnEmptyDiskKnowsHowStateWasWritten(t *testing.T) {
	counting := func(values serde.Serde[string]) *stream.Builder {
		b := stream.New("formats")
		b.Source(kafka.Source("in", serde.String, serde.String)).
			GroupByKey().
			Reduce(func(a, b string) string { return a + b }, stream.Named("joined")).
			ValueSerde(values).
			To(kafka.Sink("out", serde.String, serde.String))
		return b
	}
	upper := serde.New("upper/1",
		func(dst []byte, s string) ([]byte, error) { return append(dst, strings.ToUpper(s)...), nil },
		func(b []byte) (string, error) { return string(b), nil })
	d := streamtest.New(t, counting(serde.String))
	in, out := d.In[string, string]("in"), d.Out[string, string]("out")
	in.Send("k", "a")
	expect(t, "first", texts(out), "k a")
	d.Restart(counting(serde.String))
	in.Send("k", "b")
	expect(t, "the same serde", texts(out), "k ab")
	d.Restart(counting(upper))
	if err := d.Err(); !errors.Is(err, stream.ErrFormat) && !errors.Is(err, state.ErrFormat) || !strings.Contains(err.Error(), "joined") {
		t.Errorf("another serde: got %v", err)
	}
}

// The buffers of a join hold what its own reach needs. With another one, of the same length too, a record whose match is gone would come out as one
// that has none.
func TestReachOfAJoinIsPartOfItsFormat(t *testing.T) {
	const ms = time.Millisecond
	build := func(w window.JoinSpec) *stream.Builder {
		b := stream.New("reach")
		left, right := source(b, "left"), source(b, "right")
		left.OuterJoin(right, w, outer, stream.Named("matches")).To(memory.Collect[string, string]("out"))
		return b
	}
	for name, c := range map[string]struct {
		after window.JoinSpec
		says  string // "": it goes on
	}{
		"the same":      {window.Between(ms, 3*ms), ""},
		"another grace": {window.Between(ms, 3*ms).Grace(time.Second), ""},
		"turned around": {window.Between(3*ms, ms), "from 1ms before to 3ms after"},
		"shifted":       {window.Between(0, 4*ms), "from 1ms before to 3ms after"},
		"narrower":      {window.Within(ms), "from 1ms before to 3ms after"},
	} {
		t.Run(name, func(t *testing.T) {
			d := streamtest.New(t, build(window.Between(ms, 3*ms)), streamtest.ManualCheckpoints())
			d.In[string, int64]("left").SendAt(millisAt(10), "k", 1)
			d.Checkpoint()
			d.Restart(build(c.after))
			err := d.Err()
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (!errors.Is(err, stream.ErrFormat) && !errors.Is(err, state.ErrFormat) ||
				!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "matches-left")):
				t.Errorf("got %v", err)
			}
		})
	}
}
