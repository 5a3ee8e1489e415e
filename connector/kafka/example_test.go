package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
)

// Two clicks are written and read again. An app does this with the topology's sources and sinks; here they are used by hand.
func Example() {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1)) // an embedded one; yours has its own address
	if err != nil {
		log.Fatal(err)
	}
	defer broker.Close()
	ctx := context.Background()
	cluster := &kafka.Cluster{Brokers: broker.ListenAddrs()}
	env := connector.Env{App: "clicks"}

	type Click struct{ Page string }
	sink := kafka.Sink("clicks", serde.String, serde.JSON[Click](), kafka.On(cluster), kafka.Create(1, 1))
	w, err := sink.Open(ctx, env, connector.Task{Name: "example"})
	if err != nil {
		log.Fatal(err)
	}
	for _, page := range []string{"/", "/about"} {
		click := connector.Record[string, Click]{Key: "alice", Value: Click{page}, Time: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
		if err := w.Write(&click); err != nil {
			log.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(ctx), w.Close()); err != nil {
		log.Fatal(err)
	}

	source := kafka.Source("clicks", serde.String, serde.JSON[Click](), kafka.On(cluster))
	r, err := source.Open(ctx, env, 0, "")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for n := 0; n < 2; {
		batch, err := r.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		for i := range batch.Len() {
			var rec connector.Record[string, Click]
			if err := batch.Decode(i, &rec); err != nil {
				log.Fatal(err)
			}
			fmt.Println(rec.Origin.Offset, rec.Key, rec.Value.Page)
			n++
		}
		batch.Release()
	}
	// Output:
	// 0 alice /
	// 1 alice /about
}

// A source of three topics, read as one by time, from the records of May on where nothing is committed.
func ExampleSource() {
	source := kafka.Source("orders", serde.String, serde.Bytes,
		kafka.Topics("orders-eu", "orders-us"),
		kafka.StartAtTime(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)),
		kafka.OnPositionLost(kafka.GoOnEarliest))
	fmt.Println(source.Name())
	// Output: orders
}

// A sink that picks the topic by the record and makes topics that are missing.
func ExampleTopicSink_Route() {
	sink := kafka.Sink("alerts", serde.String, serde.String, kafka.Create(6, 3)).
		Route(func(r *connector.Record[string, string]) string {
			if r.Value == "" {
				return "" // dropped, and counted
			}
			return "alerts-" + r.Key
		})
	fmt.Println(sink.Name())
	// Output: alerts
}

// Credentials are never printed.
func ExampleSASL() {
	cluster := kafka.Cluster{
		Brokers: []string{"kafka.example:9093"},
		SASL:    &kafka.SASL{Mechanism: kafka.ScramSHA512, User: "weir", Password: "secret"},
	}
	fmt.Println(cluster.SASL)
	// Output: SCRAM-SHA-512 as "weir"
}
