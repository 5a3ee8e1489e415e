package stream_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// writing appends n numbered records to a topic of the cluster, spread over its partitions, and returns when all are there.
func writing(t *testing.T, c *memory.Cluster, topic string, from, n int) {
	t.Helper()
	ctx := context.Background()
	log, err := c.Connect(ctx, "producer")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	w, err := log.Writer(ctx, wire.WriterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, err := w.Appender("producer", 1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.To(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	for i := from; i < from+n; i++ {
		out.Append(int32(i)%out.Partitions(), now, []byte(strconv.Itoa(i)), []byte(strconv.Itoa(i)), nil)
	}
	a.Cut(1)
	if _, err := w.Flush(ctx, 1); err != nil {
		t.Fatal(err)
	}
}

// committedValues reads the values of a topic as a read_committed consumer would.
func committedValues(t *testing.T, c *memory.Cluster, topic string) (values []string) {
	t.Helper()
	ctx := context.Background()
	log, err := c.Connect(ctx, "reader")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for p := range int32(c.Topics()[topic]) {
		tp := wire.TopicPartition{Topic: topic, Partition: p}
		ends, err := log.List(ctx, wire.Stable, []wire.TopicPartition{tp})
		if err != nil {
			t.Fatal(err)
		}
		r, err := log.Read(ctx, tp, 0, wire.ReadOptions{Committed: true})
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(0); at < ends[tp]; {
			b, err := r.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Records {
				values = append(values, string(b.Records[i].Value))
			}
			at = b.Next
			b.Release()
		}
		r.Close()
	}
	return values
}

// until waits for something that other goroutines bring about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-timeout:
			t.Fatalf("waited 20 s for %s", what)
		case <-tick.C:
		}
	}
}

// TestMembersComeAndGo has a second process join, and the first one leave, while records keep coming: each is in the output once.
func TestMembersComeAndGo(t *testing.T) {
	for _, exchange := range []bool{false, true} {
		t.Run(fmt.Sprintf("exchange=%v", exchange), func(t *testing.T) {
			c := &memory.Cluster{AutoCreate: 4}
			if err := c.Create("in", 4, nil); err != nil {
				t.Fatal(err)
			}
			if err := c.Create("out", 4, nil); err != nil {
				t.Fatal(err)
			}
			build := func() *stream.App {
				b := stream.New("come-and-go")
				s := b.Source(kafka.Source("in", serde.String, serde.String), stream.MaxFuture(-1))
				if exchange {
					s = s.GroupBy(func(_, v string) string { return v }).
						Reduce(func(_, v string) string { return v + " twice" }).
						ToStream()
				}
				s.To(kafka.Sink("out", serde.String, serde.String))
				app, err := b.Build(stream.Config{Cluster: c, State: state.InMemory(), CheckpointInterval: 5 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				return app
			}
			const n = 8000
			writing(t, c, "in", 0, n/4)
			first, second := build(), build()
			ended := make(chan error, 2)
			ctx := context.Background()
			go func() { ended <- first.Run(ctx) }()
			until(t, "first output", func() bool { return len(committedValues(t, c, "out")) > 0 })
			writing(t, c, "in", n/4, n/4)
			go func() { ended <- second.Run(ctx) }()
			until(t, "the second to have tasks", func() bool { return len(second.Status().Tasks) > 0 })
			writing(t, c, "in", n/2, n/4)
			if err := first.Stop(ctx, stream.Handover); err != nil {
				t.Fatal(err)
			}
			writing(t, c, "in", n*3/4, n/4)
			until(t, "all output", func() bool { return len(committedValues(t, c, "out")) >= n })
			if err := second.Stop(ctx, stream.Handover); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			seen := map[string]int{}
			for _, v := range committedValues(t, c, "out") {
				seen[v]++
			}
			for i := range n {
				if got := seen[strconv.Itoa(i)]; got != 1 {
					t.Fatalf("%d is in the output %d times", i, got)
				}
			}
			if len(seen) != n {
				t.Errorf("%d different values in the output, want %d", len(seen), n)
			}
		})
	}
}
