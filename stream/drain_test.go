package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// TestDrainEmptiesRepartitionTopics stops an app in the middle: nothing that was read is left on its way.
func TestDrainEmptiesRepartitionTopics(t *testing.T) {
	c := &memory.Cluster{}
	for _, topic := range []string{"in", "out"} {
		if err := c.Create(topic, 4, nil); err != nil {
			t.Fatal(err)
		}
	}
	b := stream.New("draining")
	b.Source(kafka.Source("in", serde.String, serde.String), stream.MaxFuture(-1)).
		GroupBy(func(_, v string) string { return v }, stream.Named("by-value")).
		Count().
		To(kafka.Sink("out", serde.String, serde.Int64))
	app, err := b.Build(stream.Config{Cluster: c, State: state.InMemory(), CheckpointInterval: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	writing(t, c, "in", 0, 20_000)
	ctx := context.Background()
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	until(t, "first output", func() bool { return len(committedValues(t, c, "out")) > 0 })
	if err := app.Stop(ctx, stream.Drain); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	log, err := c.Connect(ctx, "reader")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var inputs, through []wire.TopicPartition
	for p := range int32(4) {
		inputs = append(inputs, wire.TopicPartition{Topic: "in", Partition: p})
		through = append(through, wire.TopicPartition{Topic: "draining-by-value-repartition", Partition: p})
	}
	read, err := log.Committed(ctx, "draining", append(inputs, through...))
	if err != nil {
		t.Fatal(err)
	}
	ends, err := log.List(ctx, wire.Stable, through)
	if err != nil {
		t.Fatal(err)
	}
	for _, tp := range through {
		if left := ends[tp] - read[tp].Offset; left > 1 { // the marker of the last commit
			t.Errorf("%s/%d: %d records are left", tp.Topic, tp.Partition, left)
		}
	}
	var taken int64
	for _, tp := range inputs {
		taken += read[tp].Offset
	}
	if n := len(committedValues(t, c, "out")); int64(n) != taken {
		t.Errorf("%d counts came out, for %d records that were read", n, taken)
	}
}
