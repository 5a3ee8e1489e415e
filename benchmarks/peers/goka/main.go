// Command goka is the benchmark's goka side: at-least-once, its defaults but for reading from the start. Arguments and
// behaviour are those of the Kafka Streams peer. goka emits every update of a count.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"
	"github.com/lovoo/goka/codec"
	"github.com/lovoo/goka/storage"
)

func main() {
	arg := make(map[string]string)
	for _, a := range os.Args[1:] {
		key, value, _ := strings.Cut(a, "=")
		arg[key] = value
	}
	if err := run(arg); err != nil {
		log.Fatal(err)
	}
}

func run(arg map[string]string) error {
	group, err := define(arg)
	if err != nil {
		return err
	}
	config := goka.DefaultConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	topics := goka.NewTopicManagerConfig()
	topics.Table.Replication, topics.Stream.Replication = 1, 1
	p, err := goka.NewProcessor(strings.Split(arg["brokers"], ","), group,
		goka.WithConsumerGroupBuilder(goka.ConsumerGroupBuilderWithConfig(config)),
		goka.WithTopicManagerBuilder(goka.TopicManagerBuilderWithConfig(config, topics)),
		goka.WithStorageBuilder(storage.DefaultBuilder(arg["dir"])))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return p.Run(ctx)
}

func define(arg map[string]string) (*goka.GroupGraph, error) {
	at, err := strconv.ParseInt(arg["warm"], 10, 64)
	if err != nil {
		return nil, err
	}
	w := &warm{at: at}
	in, out, app := goka.Stream(arg["in"]), goka.Stream(arg["out"]), goka.Group(arg["app"])
	count := func(ctx goka.Context) {
		n, _ := ctx.Value().(int64)
		ctx.SetValue(n + 1)
		ctx.Emit(out, ctx.Key(), n+1)
	}
	switch arg["suite"] {
	case "pass":
		return goka.DefineGroup(app, goka.Input(in, new(codec.Bytes), func(ctx goka.Context, msg any) {
			w.tick()
			ctx.Emit(out, ctx.Key(), msg)
		}), goka.Output(out, new(codec.Bytes))), nil
	case "count":
		return goka.DefineGroup(app, goka.Input(in, new(codec.Bytes), func(ctx goka.Context, msg any) {
			w.tick()
			count(ctx)
		}), goka.Output(out, new(codec.Int64)), goka.Persist(new(codec.Int64))), nil
	case "repartition":
		return goka.DefineGroup(app, goka.Input(in, new(codec.Bytes), func(ctx goka.Context, msg any) {
			w.tick()
			ctx.Loopback(string(msg.([]byte)[:7]), msg)
		}), goka.Loop(new(codec.Bytes), func(ctx goka.Context, msg any) { count(ctx) }),
			goka.Output(out, new(codec.Int64)), goka.Persist(new(codec.Int64))), nil
	}
	return nil, fmt.Errorf("no suite %q", arg["suite"])
}

// warm says once that the warm-up is over. goka runs a goroutine per partition.
type warm struct {
	at   int64
	seen atomic.Int64
}

func (w *warm) tick() {
	if w.seen.Add(1) == w.at {
		fmt.Println("warm")
	}
}
