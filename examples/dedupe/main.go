// Deduplication by an id in the value: first bring equal ids together, then drop repeats of a day.
//
//	dedupe -brokers localhost:9092
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A Payment has an id that its sender repeats when it tries again.
type Payment struct {
	ID    string
	Cents int64
}

func topology() *stream.Builder {
	b := stream.New("dedupe")
	b.Source(kafka.Source("payments", serde.Bytes, serde.JSON[Payment]())).
		// The sender's key is any: a retry may be in another partition than the first try.
		SelectKey(func(_ []byte, p Payment) string { return p.ID }).
		Deduplicate(func(id string, _ Payment) string { return id }, 24*time.Hour, stream.Named("seen")).
		To(kafka.Sink("payments-once", serde.String, serde.JSON[Payment]()))
	return b
}

func main() {
	brokers := flag.String("brokers", "", "host:port,… of a Kafka; without it the topology is printed")
	flag.Parse()
	if *brokers == "" {
		t, err := topology().Topology()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	app, err := topology().Build(stream.Config{
		Cluster: &kafka.Cluster{Brokers: strings.Split(*brokers, ",")},
		State:   state.InMemory(), // rebuilt from the changelog after a restart
	})
	if err == nil {
		err = app.Run(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
}
