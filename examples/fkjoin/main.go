// Foreign-key join: orders with the customer they name, and revenue per country that follows every change of either.
//
// Without KAFKA (host:port,…) in the environment it prints its topology.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

type Order struct {
	Customer *string // null for guests
	Cents    int64
}
type Customer struct{ Country string }
type Sale struct {
	Country string
	Cents   int64
}

func topology() *stream.Builder {
	b := stream.New("revenue")
	customers := b.Table(kafka.Source("customers", serde.String, serde.JSON[Customer]()))
	orders := b.Table(kafka.Source("orders", serde.Int64, serde.JSON[Order]()))

	sales := orders.JoinOn(customers,
		func(_ int64, o Order) (string, bool) {
			if o.Customer == nil {
				return "", false
			}
			return *o.Customer, true
		},
		func(o Order, c Customer) Sale { return Sale{c.Country, o.Cents} },
		stream.Named("sales"))

	sales.GroupBy(func(_ int64, s Sale) (string, int64) { return s.Country, s.Cents }).
		Reduce(func(a, b int64) int64 { return a + b }, func(a, b int64) int64 { return a - b }).
		To(kafka.Sink("revenue", serde.String, serde.Int64))
	return b
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv("KAFKA"), os.Getenv("STATE")); err != nil {
		log.Fatal(err)
	}
}

// run runs the topology on the brokers, with its state in dir, until ctx ends.
func run(ctx context.Context, brokers, dir string) error {
	if brokers == "" {
		t, err := topology().Topology()
		fmt.Println(t)
		return err
	}
	app, err := topology().Build(stream.Config{
		Cluster:  &kafka.Cluster{Brokers: strings.Split(brokers, ",")},
		State:    pebblestore.New(),
		StateDir: dir,
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}
