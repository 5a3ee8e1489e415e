// Enrichment: a stream of orders, left-joined with customers, and with a versioned price list as of the order's time.
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
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

type Order struct {
	Customer, SKU string
	Quantity      int64
	Placed        time.Time
}
type Customer struct{ Country string }
type Price struct{ Cents int64 }
type Enriched struct {
	Order   Order
	Country string // "" when the customer is not known
	Cents   int64
}

func withCustomer(o Order, c Customer, ok bool) Enriched {
	if !ok {
		return Enriched{Order: o}
	}
	return Enriched{Order: o, Country: c.Country}
}

func topology() *stream.Builder {
	b := stream.New("enrich")
	customers := b.Table(kafka.Source("customers", serde.String, serde.JSON[Customer]()))
	prices := b.Table(kafka.Source("prices", serde.String, serde.JSON[Price]()), stream.Versioned(24*time.Hour))
	countries := b.Global(kafka.Source("countries", serde.String, serde.String))

	b.Source(kafka.Source("orders", serde.String, serde.JSON[Order]()).
		Time(func(_ string, o Order) time.Time { return o.Placed }), stream.Disorder(5*time.Second)).
		SelectKey(func(_ string, o Order) string { return o.Customer }).
		LeftJoinTable(customers, withCustomer).
		LeftJoinGlobal(countries,
			func(_ string, e Enriched) (string, bool) { return e.Country, e.Country != "" },
			func(e Enriched, name string, ok bool) Enriched {
				if ok {
					e.Country = name
				}
				return e
			}).
		SelectKey(func(_ string, e Enriched) string { return e.Order.SKU }).
		JoinTable(prices, func(e Enriched, p Price) Enriched { e.Cents = e.Order.Quantity * p.Cents; return e }, stream.WaitFor(10*time.Second)).
		To(kafka.Sink("enriched", serde.String, serde.JSON[Enriched]()))
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
