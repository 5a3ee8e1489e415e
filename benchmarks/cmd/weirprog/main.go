// Command weirprog is the benchmark's weir side, written as any program with weir is. It prints "warm" when it has taken
// in the given number of records and runs until it is ended; cmd/weirbench measures it and checks its results.
//
// Arguments, each KEY=VALUE: suite (pass, keep, count, repartition, or nexmark with query), brokers, in, out, app, dir, guarantee (eos or alo), commit
// (ms), emit (commit or update), warm (records), exchange (kafka, the default, or local), instance, session (ms), standbys,
// memory (bytes), profile (a file: CPU from the end of the warm-up on).
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

func main() {
	arg := make(map[string]string)
	for _, a := range os.Args[1:] {
		key, value, _ := strings.Cut(a, "=")
		arg[key] = value
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, arg); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, arg map[string]string) error {
	commit, err1 := strconv.Atoi(arg["commit"])
	at, err2 := strconv.ParseInt(arg["warm"], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	b := stream.New(arg["app"])
	w := &warm{at: at, over: func() {}}
	if path := arg["profile"]; path != "" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		defer pprof.StopCPUProfile()
		w.over = func() { _ = pprof.StartCPUProfile(f) }
	}
	if err := topology(b, arg, w); err != nil {
		return err
	}
	config := stream.Config{
		Cluster:            &kafka.Cluster{Brokers: strings.Split(arg["brokers"], ",")},
		State:              pebblestore.New(),
		StateDir:           arg["dir"],
		CheckpointInterval: time.Duration(commit) * time.Millisecond,
		Exchange:           stream.Kafka,
	}
	if ms, err := strconv.Atoi(arg["session"]); err == nil {
		config.SessionTimeout = time.Duration(ms) * time.Millisecond
	}
	if n, err := strconv.Atoi(arg["standbys"]); err == nil {
		config.Standbys = n
	}
	if bytes, err := strconv.ParseInt(arg["memory"], 10, 64); err == nil {
		config.MemoryBytes = bytes
	}
	config.Instance = arg["instance"]
	pauses := &stalls{}
	config.Metrics = pauses
	if arg["guarantee"] == "alo" {
		config.Guarantee = stream.AtLeastOnce
	}
	if arg["exchange"] == "local" {
		config.Exchange = stream.Local
	}
	if err := os.MkdirAll(arg["dir"], 0o755); err != nil {
		return err
	}
	app, err := b.Build(config)
	if err != nil {
		return err
	}
	go watch(ctx, pauses)
	return app.Run(ctx)
}

// watch prints how many goroutines there are, for the soak, and how long tasks stood still, for the latency.
func watch(ctx context.Context, pauses *stalls) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			fmt.Println("goroutines", runtime.NumGoroutine())
			pauses.print()
		}
	}
}

func topology(b *stream.Builder, arg map[string]string, w *warm) error {
	switch arg["suite"] {
	case "pass":
		b.Source(kafka.Source(arg["in"], serde.Bytes, serde.Bytes)).
			Peek(func(_, _ []byte) { w.tick() }).
			To(kafka.Sink(arg["out"], serde.Bytes, serde.Bytes))
	case "keep":
		in(b, arg, w).GroupByKey().Reduce(func(_, v []byte) []byte { return v }, emission(arg)...).To(kafka.Sink(arg["out"], serde.String, serde.Bytes))
	case "count":
		in(b, arg, w).GroupByKey().Count(emission(arg)...).To(kafka.Sink(arg["out"], serde.String, serde.Int64))
	case "repartition":
		in(b, arg, w).GroupBy(func(_ string, v []byte) string { return string(v[:7]) }).
			Count(emission(arg)...).To(kafka.Sink(arg["out"], serde.String, serde.Int64))
	case "nexmark":
		for _, q := range nexmark.Queries() {
			if q.Name == arg["query"] {
				q.Build(b, b.Source(kafka.Source(arg["in"], serde.Unit, serde.For[event.Event]())).
					Peek(func(struct{}, event.Event) { w.tick() }), nexmark.Topic(arg["out"]))
				return nil
			}
		}
		return fmt.Errorf("no query %q", arg["query"])
	default:
		return fmt.Errorf("no suite %q", arg["suite"])
	}
	return nil
}

func in(b *stream.Builder, arg map[string]string, w *warm) *stream.Stream[string, []byte] {
	return b.Source(kafka.Source(arg["in"], serde.String, serde.Bytes)).Peek(func(string, []byte) { w.tick() })
}

func emission(arg map[string]string) []stream.TableOption {
	if arg["emit"] == "update" {
		return []stream.TableOption{stream.OnUpdate}
	}
	return nil
}

// warm says once that the warm-up is over. Tasks run on several goroutines.
type warm struct {
	at   int64
	seen atomic.Int64
	over func() // called then
}

func (w *warm) tick() {
	if w.seen.Add(1) == w.at {
		fmt.Println("warm")
		w.over()
	}
}
