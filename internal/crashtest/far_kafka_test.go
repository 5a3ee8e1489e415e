package crashtest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// TestOutboxOnTwoKafkas counts from one Kafka into another while a second member joins and the first one leaves: relays change hands, and every
// sum arrives once and in order.
func TestOutboxOnTwoKafkas(t *testing.T) {
	here, there := kafkatest.Start(t), kafkatest.Start(t)
	in, out, name := here.Name("in"), there.Name("out"), here.Name("far")
	here.CreateTopic(in, partitions, nil)
	there.CreateTopic(out, partitions, nil)
	other := &kafka.Cluster{Brokers: there.Brokers()}
	start := func(instance string) (app *stream.App, stop func()) {
		b := stream.New(name)
		b.Source(kafka.Source(in, serde.String, serde.String)).GroupByKey().Count(stream.OnUpdate).ToStream().
			To(kafka.Sink(out, serde.String, serde.Int64, kafka.On(other)))
		app, err := b.Build(stream.Config{
			Cluster: &kafka.Cluster{Brokers: here.Brokers()}, State: state.InMemory(), Instance: instance,
			CheckpointInterval: 20 * time.Millisecond, SessionTimeout: 6 * time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		return app, func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", instance, err)
			}
		}
	}
	sent := 0
	send := func(n int) {
		var rs []*kafkatest.Record
		for range n {
			rs = append(rs, kafkatest.KV(fmt.Sprint("k", sent%10), "v"))
			sent++
		}
		here.Produce(in, rs...)
	}
	send(500)
	_, stopFirst := start("a")
	there.AwaitCount(out, 500)
	second, stopSecond := start("b")
	here.Eventually("the second member has tasks", func() bool { send(1); return len(second.Status().Tasks) > 0 })
	send(500)
	stopFirst()
	send(500)
	got := there.AwaitCount(out, sent)
	here.Eventually("nothing is left in the outbox", func() bool {
		n := int64(0)
		for _, task := range second.Status().Tasks {
			n += task.Outbox
		}
		return n == 0
	})
	stopSecond()
	if all := there.ReadCommitted(out); len(all) != len(got) {
		t.Errorf("%d records, want %d", len(all), sent)
	}
	last := map[string]int64{}
	for _, r := range got { // each partition's in order, and a key is in one
		n, err := serde.Int64.Decode(r.Value)
		if key := string(r.Key); err != nil || n != last[key]+1 {
			t.Fatalf("key %s has %d (%v) behind %d", key, n, err, last[key])
		} else {
			last[key] = n
		}
	}
	if open := there.OpenTransactions(name); len(open) > 0 {
		t.Errorf("open are %v", open)
	}
}
