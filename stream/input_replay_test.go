package stream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// replayed is an app on a broker that looks rows up, and tells each change of a row.
type replayed struct {
	t                  *testing.T
	broker             *kafkatest.Broker
	rows, in           string
	out, changes, name string
}

// run runs it until stop is called.
func (r *replayed) run() (stop func()) {
	b := stream.New(r.broker.Name(r.name))
	rows := b.Table(kafka.Source(r.rows, serde.String, serde.String))
	b.Source(kafka.Source(r.in, serde.String, serde.String)).
		LeftJoinTable(rows, func(v, row string, _ bool) string { return v + "+" + row[strings.LastIndex(row, ".")+1:] }).
		To(kafka.Sink(r.out, serde.String, serde.String))
	rows.MapValues(func(string) string { return "" }).To(kafka.Sink(r.changes, serde.String, serde.String))
	app, err := b.Build(stream.Config{Cluster: &kafka.Cluster{Brokers: r.broker.Brokers()}, State: state.InMemory(),
		CheckpointInterval: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Run(context.Background()) }()
	return func() {
		if err := errors.Join(app.Stop(context.Background(), stream.Handover), <-ended); err != nil {
			r.t.Fatal(err)
		}
	}
}

// What a live run joined on a broker, a replay from the beginning joins again. It finds all records of one topic in its first answer, and the
// rows, which are large, in many: it may not go on while the broker has more of them.
func TestReplaysJoinAsLiveRunsOnKafka(t *testing.T) {
	const steps = 12
	broker := kafkatest.Start(t)
	rows, in := broker.Topic("rows", 2), broker.Topic("in", 2)
	app := func(name string) *replayed {
		return &replayed{t: t, broker: broker, rows: rows, in: in, out: broker.Topic(name+"-out", 2), changes: broker.Topic(name+"-changes", 2), name: name}
	}
	r := rand.New(rand.NewPCG(7, 4))
	live := app("live")
	stop := live.run()
	keys := keysOfPartitions(2)
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	for i := range steps {
		for k, key := range keys {
			row, record := kafkatest.KV(key, noise(r, 400_000)+fmt.Sprint(".row", i)), kafkatest.KV(key, fmt.Sprint("v", i))
			row.Timestamp, record.Timestamp = at.Add(time.Duration(2*i)*time.Second), at.Add(time.Duration(2*i+1)*time.Second)
			broker.Produce(rows, row)
			broker.AwaitCount(live.changes, 2*i+k+1)
			broker.Produce(in, record)
			broker.AwaitCount(live.out, 2*i+k+1)
		}
	}
	stop()
	again := app("again")
	stop = again.run()
	broker.AwaitCount(again.out, 2*steps)
	stop()
	want := joinedBy(broker, live.out, keys)
	for _, of := range want {
		if len(of) != steps || of[0] != "v0+row0" || of[steps-1] != fmt.Sprintf("v%d+row%d", steps-1, steps-1) {
			t.Fatalf("the live run joined %q", of)
		}
	}
	for key, got := range joinedBy(broker, again.out, keys) {
		if !slices.Equal(got, want[key]) {
			t.Errorf("%s: the replay joined\n%q, the live run\n%q", key, got, want[key])
		}
	}
}

// noise is text that no client can compress by much.
func noise(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + r.IntN(64))
	}
	return string(b)
}

// joinedBy are the values of a topic by key.
func joinedBy(broker *kafkatest.Broker, topic string, keys []string) map[string][]string {
	by := map[string][]string{}
	for _, key := range keys {
		by[key] = nil
	}
	for _, r := range broker.ReadCommitted(topic) {
		by[string(r.Key)] = append(by[string(r.Key)], string(r.Value))
	}
	return by
}
