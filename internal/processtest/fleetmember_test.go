package processtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

// fleetMemory is what a member of a fleet may take for its app: much less than all state.
const fleetMemory = 64 << 20

// serve is the app of a fleet: how often each key came, every count emitted, with a copy of each task's state in another process. It prints
// what its test must know, a line each: "tasks A B" when those that run are others, "restored TASK RECORDS", "round GENERATION", "probe".
func serve() error {
	app := os.Getenv("WEIR_TEST_APP")
	b := stream.New(app)
	b.Source(kafka.Source(app+"-in", serde.String, serde.String), stream.IdleAfter(24*time.Hour)).
		GroupByKey().
		Count(stream.OnUpdate).
		ToStream().
		To(kafka.Sink(app+"-out", serde.String, serde.Int64))
	said := &printer{}
	built, err := b.Build(stream.Config{
		Cluster:  &kafka.Cluster{Brokers: strings.Split(os.Getenv("WEIR_TEST_BROKERS"), ",")},
		State:    pebblestore.New(),
		StateDir: os.Getenv("WEIR_TEST_DIR"), Instance: os.Getenv("WEIR_TEST_MEMBER"), MemoryBytes: fleetMemory,
		Exchange: stream.Kafka, CheckpointInterval: interval, SessionTimeout: sessionTimeout,
		Standbys: 1,
		OnRestore: func(r stream.Restore) {
			if r.Ended {
				said.print("restored", r.Task, r.Done)
			}
		},
		Logger: slog.New(roundHandler{slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}), said}),
	})
	if err != nil {
		return err
	}
	go said.follow(built)
	how := stream.Handover
	if os.Getenv("WEIR_TEST_STOP") == "stay" {
		how = stream.Stay
	}
	return built.RunUntilSignal(context.Background(), how)
}

// A printer prints whole lines.
type printer struct{ mu sync.Mutex }

func (p *printer) print(what ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Println(what...)
}

// follow prints which tasks run.
func (p *printer) follow(app *stream.App) {
	var last []string
	for range time.Tick(20 * time.Millisecond) {
		var running []string
		for _, task := range app.Status().Tasks {
			if task.State == "running" {
				running = append(running, task.Task)
			}
		}
		slices.Sort(running)
		if !slices.Equal(running, last) {
			last = running
			p.print("tasks", strings.Join(running, " "))
		}
	}
}

// A roundHandler prints what the log says of the group's rounds, and passes on what is worse.
type roundHandler struct {
	slog.Handler
	said *printer
}

func (h roundHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

func (h roundHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return roundHandler{h.Handler.WithAttrs(attrs), h.said}
}

func (h roundHandler) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "asking the group for a round") || strings.Contains(r.Message, "asking for a new round") {
		h.said.print("probe")
	}
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == "a round of the group is over" && a.Key == "generation" {
			h.said.print("round", a.Value)
		}
		return true
	})
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
