package stream_test

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// passing copies a topic.
func passing() *stream.Builder {
	b := stream.New("passing")
	b.Source(kafka.Source("in", serde.String, serde.String)).To(kafka.Sink("out", serde.String, serde.String))
	return b
}

// TestWhatACrashDoesUnderEachGuarantee crashes behind output that no checkpoint has committed.
func TestWhatACrashDoesUnderEachGuarantee(t *testing.T) {
	for _, c := range []struct {
		g    stream.Guarantee
		want []string
	}{
		{stream.ExactlyOnce, []string{"k 1", "k 2"}},
		{stream.AtLeastOnce, []string{"k 1", "k 2"}}, // the crash came before the record had left
		{stream.AtMostOnce, []string{"k 1"}},         // its position was committed before it was processed
	} {
		t.Run(c.g.String(), func(t *testing.T) {
			d := streamtest.New(t, passing(), streamtest.ManualCheckpoints(), streamtest.Config(func(cfg *stream.Config) { cfg.Guarantee = c.g }))
			in, out := d.In[string, string]("in"), d.Out[string, string]("out")
			in.Send("k", "1")
			d.Checkpoint()
			in.Send("k", "2")
			d.Crash()
			d.Checkpoint()
			if got := texts(out); strings.Join(got, ",") != strings.Join(c.want, ",") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSinksThatCannotBeExact(t *testing.T) {
	other := &kafka.Cluster{Brokers: []string{"elsewhere:9092"}}
	for name, c := range map[string]struct {
		sink connector.Sink[string, string]
		on   connector.Cluster
	}{
		"plain":               {memory.Each("plain", func(*stream.Record[string, string]) {}), &memory.Cluster{}},
		"a cluster from none": {kafka.Sink("out", serde.String, serde.String, kafka.On(other)), nil},
	} {
		build := func(opts ...stream.SinkOption) error {
			b := stream.New("sinks")
			b.Source(kafka.Source("in", serde.String, serde.String)).To(c.sink, opts...)
			_, err := b.Build(stream.Config{Cluster: c.on})
			return err
		}
		if err := build(); err == nil || !strings.Contains(err.Error(), "AtLeastOnceSink") || !strings.Contains(err.Error(), "guarantee_test.go:") {
			t.Errorf("%s: got %v", name, err)
		}
		if err := build(stream.AtLeastOnceSink()); err != nil {
			t.Errorf("%s, marked: %v", name, err)
		}
	}
}

func TestAtMostOnceKeepsNoState(t *testing.T) {
	b := stream.New("state")
	b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().Count()
	_, err := b.Build(stream.Config{Guarantee: stream.AtMostOnce})
	if err == nil || !strings.Contains(err.Error(), "keeps no state") || !strings.Contains(err.Error(), "Cluster is not set") {
		t.Errorf("got %v", err)
	}
}
