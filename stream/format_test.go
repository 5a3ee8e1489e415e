package stream_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
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
