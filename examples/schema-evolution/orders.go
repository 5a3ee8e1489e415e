package main

import (
	"fmt"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/stream"
)

// The topics of the example.
const (
	topicOrders = "shop-orders"
	topicTotals = "shop-totals"
)

// order is version 1.
type order struct {
	ID       int64  `avro:"id"`
	Customer string `avro:"customer"`
	Cents    int64  `avro:"cents"`
}

// giftOrder adds two fields. Both have defaults, for orders of version 1; readers of version 1 skip them.
type giftOrder struct {
	ID       int64   `avro:"id"`
	Customer string  `avro:"customer"`
	Cents    int64   `avro:"cents"`
	Gift     bool    `avro:"gift,default=false"`
	Note     *string `avro:"note"` // a pointer may be null, and is by default
}

// renamedOrder is a mistake: it renames a field that readers of the other versions cannot do without.
type renamedOrder struct {
	ID     int64  `avro:"id"`
	Client string `avro:"client"`
	Cents  int64  `avro:"cents"`
}

// total is what the app keeps for each customer, in its first version.
type total struct {
	Orders int64 `avro:"orders"`
	Cents  int64 `avro:"cents"`
}

// giftTotal counts gifts as well.
type giftTotal struct {
	Orders int64 `avro:"orders"`
	Cents  int64 `avro:"cents"`
	Gifts  int64 `avro:"gifts,default=0"`
}

// Both versions of a type are versions of one schema, which has the name of neither.
var (
	orderName = avro.Name("shop.Order")
	totalName = avro.Name("shop.Total")
)

// firstTopology sums orders by customer.
func firstTopology() *stream.Builder {
	b := stream.New("shop")
	b.Source(kafka.Source(topicOrders, serde.String, avro.Registered[order](orderName))).
		GroupBy(func(_ string, o order) string { return o.Customer }).
		Aggregate(func() total { return total{} }, func(_ string, o order, sum total) total {
			return total{sum.Orders + 1, sum.Cents + o.Cents}
		}).
		ValueSerde(avro.Of[total](totalName)).
		ToStream().
		MapValues(func(t total) string { return fmt.Sprintf("%d orders, %s", t.Orders, euros(t.Cents)) }).
		To(kafka.Sink(topicTotals, serde.String, serde.String, kafka.Create(1, 1)))
	return b
}

// secondTopology is the same topology for the second versions of both types.
func secondTopology() *stream.Builder {
	b := stream.New("shop")
	b.Source(kafka.Source(topicOrders, serde.String, avro.Registered[giftOrder](orderName))).
		GroupBy(func(_ string, o giftOrder) string { return o.Customer }).
		Aggregate(func() giftTotal { return giftTotal{} }, func(_ string, o giftOrder, sum giftTotal) giftTotal {
			if o.Gift {
				sum.Gifts++
			}
			return giftTotal{sum.Orders + 1, sum.Cents + o.Cents, sum.Gifts}
		}).
		ValueSerde(avro.Of[giftTotal](totalName)).
		ToStream().
		MapValues(func(t giftTotal) string {
			return fmt.Sprintf("%d orders, %s, %d gifts", t.Orders, euros(t.Cents), t.Gifts)
		}).
		To(kafka.Sink(topicTotals, serde.String, serde.String, kafka.Create(1, 1)))
	return b
}

func euros(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
