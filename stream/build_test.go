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
)

// Build reports every mistake at once, each with the line that made it.
func TestBuildReportsEverything(t *testing.T) {
	b := stream.New("bad name!")
	s := b.Source(kafka.Source("in", serde.String, serde.String), stream.Disorder(-time.Second))
	s.Repartition(stream.Partitions(-1))
	s.MapValues(func(v string) string { return v }, stream.Named("twice"))
	s.MapValues(func(v string) string { return v }, stream.Named("twice"))
	s.GroupBy(func(_, v string) func() { return nil }).Count()
	_, err := b.Build(stream.Config{Guarantee: 7, CheckpointInterval: -1, Workers: -2})
	for _, want := range []string{
		`app name "bad name!"`,
		"Disorder and IdleAfter must not be negative",
		"Partitions(-1) is negative",
		`"twice" has the name of the map-values at`,
		"Guarantee 7 does not exist",
		"CheckpointInterval -1ns is negative",
		"Workers -2 is negative",
		"State is not set",
		"key serde",
		"stream/build_test.go:",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

// Each link of a chain over several lines has its own line.
func TestLinesOfAChain(t *testing.T) {
	b := stream.New("lines")
	fed[string, string](b, "in").
		MapValues(func(v string) string { return v }, stream.Named("in")). // line 46
		ForEach(func(stream.Record[string, string]) error { return nil }, stream.Named("in"))
	_, err := b.Topology()
	for _, want := range []string{"stream/build_test.go:47", "stream/build_test.go:48"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in:\n%v", want, err)
		}
	}
}

// Repartitions that meet in a join must have been told the same count: then Build says so, by their names and lines.
func TestRepartitionsThatCannotBeJoined(t *testing.T) {
	build := func(n int) error {
		b := stream.New("apart")
		b.Source(kafka.Source("orders", serde.String, serde.String)).Repartition(stream.Partitions(2)).
			JoinTable(b.Source(kafka.Source("prices", serde.String, serde.String)).Repartition(stream.Partitions(n)).ToTable(),
				func(a, b string) string { return a + b }).
			To(kafka.Sink("out", serde.String, serde.String))
		_, err := b.Build(stream.Config{Cluster: &memory.Cluster{}, State: state.InMemory()})
		return err
	}
	for _, n := range []int{0, 2} { // 0 is as upstream, which the topics will say
		if err := build(n); err != nil {
			t.Errorf("Partitions(%d): %v", n, err)
		}
	}
	err := build(3)
	if !errors.Is(err, stream.ErrCoPartition) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"build_test.go:61) with Partitions(2)", "orders-repartition", "build_test.go:62) with Partitions(3)", "prices-repartition", "give both the same count"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

// A name that was made up gives way to that of a topic or of the user, whichever came first.
func TestNumbersGiveWayToNames(t *testing.T) {
	double := func(v string) string { return v + v }
	all := func(string, string) bool { return true }
	text := func(topic string) *kafka.TopicSource[string, string] {
		return kafka.Source(topic, serde.String, serde.String)
	}
	for name, c := range map[string]struct {
		build func(b *stream.Builder, in *stream.Stream[string, string]) *stream.Stream[string, string]
		want  string
	}{
		"a sink behind it": {func(b *stream.Builder, _ *stream.Stream[string, string]) *stream.Stream[string, string] {
			s := b.Table(text("rows")).ToStream()
			s.To(kafka.Sink("stream-1", serde.String, serde.String))
			return s
		}, "to-stream to-stream-2"},
		"a source before it": {func(b *stream.Builder, in *stream.Stream[string, string]) *stream.Stream[string, string] {
			b.Source(text("map-values-1")).ForEach(func(stream.Record[string, string]) error { return nil })
			return in.MapValues(double).MapValues(double)
		}, "map-values map-values-3"},
		"a name": {func(_ *stream.Builder, in *stream.Stream[string, string]) *stream.Stream[string, string] {
			return in.MapValues(double).MapValues(double).Filter(all, stream.Named("map-values-1"))
		}, "map-values map-values-3"},
	} {
		b := stream.New("names")
		c.build(b, b.Source(text("in"))).To(kafka.Sink("out", serde.String, serde.String))
		for range 2 { // what was renamed keeps its name
			if topology, err := b.Topology(); err != nil || !strings.Contains(topology.String(), c.want) {
				t.Errorf("%s: %q is not in\n%s (%v)", name, c.want, topology, err)
			}
		}
	}
}

func TestAnEmptyTopology(t *testing.T) {
	_, err := stream.New("empty").Topology()
	if err == nil || !strings.Contains(err.Error(), "reads nothing") {
		t.Errorf("got %v", err)
	}
}

func TestNilConnectors(t *testing.T) {
	b := stream.New("nil")
	b.Source[string, string](nil).To(nil)
	_, err := b.Topology()
	for _, want := range []string{"the source is nil", "the sink is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

// A stream belongs to the builder that made it.
func TestStreamsOfTwoBuilders(t *testing.T) {
	a, b := stream.New("a"), stream.New("b")
	fed[string, int](a, "in").Merge(fed[string, int](b, "in"))
	_, err := a.Topology()
	if err == nil || !strings.Contains(err.Error(), "another Builder") {
		t.Errorf("got %v", err)
	}
}

// A builder may be built more than once.
func TestBuildTwice(t *testing.T) {
	b := stream.New("twice")
	fed[string, int](b, "in").To(memory.Collect[string, int]("out"))
	for range 2 {
		if _, err := b.Build(stream.Config{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConfigDefaultsAndLimits(t *testing.T) {
	c := stream.Config{CheckpointInterval: time.Minute}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "TransactionTimeout 1m0s must exceed") {
		t.Errorf("got %v", err)
	}
	if err := (&stream.Config{}).Validate(); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
}

func TestTransientOfNothing(t *testing.T) {
	if stream.Transient(nil) != nil {
		t.Error("Transient(nil) is not nil")
	}
	if err := stream.Transient(errBad); !errors.Is(err, errBad) {
		t.Errorf("%v does not unwrap", err)
	}
}
