package processtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

// TestMain runs as a member when a test has started itself as one.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_MEMBER") == "" {
		os.Exit(m.Run())
	}
	program := count
	if os.Getenv("WEIR_TEST_PROGRAM") == "fleet" {
		program = serve
	}
	if err := program(); err != nil {
		fmt.Fprintln(os.Stderr, os.Getenv("WEIR_TEST_MEMBER"), err)
		os.Exit(1)
	}
}

// The member's times: a session as short as brokers allow, and the rest to match.
const (
	sessionTimeout = 6 * time.Second
	transactions   = 10 * time.Second
	interval       = 100 * time.Millisecond
)

// count is the app: how often each word came, through a repartition topic, every count emitted. So the output of a word is 1, 2, 3 and so on,
// and a record that was lost or counted twice shows.
func count() error {
	app := os.Getenv("WEIR_TEST_APP")
	b := stream.New(app)
	b.Source(kafka.Source(app+"-in", serde.String, serde.String), stream.IdleAfter(24*time.Hour)).
		GroupBy(func(_, word string) string { return word }).
		Count(stream.OnUpdate).
		ToStream().
		To(kafka.Sink(app+"-out", serde.String, serde.Int64))
	built, err := b.Build(stream.Config{
		Cluster:  &kafka.Cluster{Brokers: strings.Split(os.Getenv("WEIR_TEST_BROKERS"), ",")},
		State:    pebblestore.New(),
		StateDir: os.Getenv("WEIR_TEST_DIR"), Instance: os.Getenv("WEIR_TEST_MEMBER"), MemoryBytes: 64 << 20,
		Exchange: stream.Kafka, CheckpointInterval: interval, SessionTimeout: sessionTimeout, TransactionTimeout: transactions, MaxTaskPause: 4 * time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	return built.RunUntilSignal(context.Background(), stream.Stay)
}
