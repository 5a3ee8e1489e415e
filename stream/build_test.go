package stream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
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
		MapValues(func(v string) string { return v }, stream.Named("in")). // line 45
		ForEach(func(stream.Record[string, string]) error { return nil }, stream.Named("in"))
	_, err := b.Topology()
	for _, want := range []string{"stream/build_test.go:46", "stream/build_test.go:47"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in:\n%v", want, err)
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
