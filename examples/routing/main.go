// Routing: the topic and the partition of each record from its headers and its value; a header added on the way.
//
// Events of a tenant go to that tenant's topic, those of nobody to events-other; records that a load test made go nowhere.
//
//	routing -brokers localhost:9092
package main

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"strings"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// An Event is something that happened to a tenant.
type Event struct{ Tenant string }

func topology() *stream.Builder {
	b := stream.New("route")
	b.Source(kafka.Source("events", serde.String, serde.JSON[Event](), kafka.Topics("events-old"))).
		Transform(label).
		To(kafka.Sink("events-other", serde.String, serde.JSON[Event](), kafka.Create(6, 3)).
			Route(tenantTopic).
			Partition(byKey))
	return b
}

// label drops what a load test made, and says in headers whose the rest is and where it came from.
func label(r stream.Record[string, Event], emit func(stream.Record[string, Event])) error {
	if _, ok := r.Headers.Get("synthetic"); ok {
		return nil
	}
	if r.Value.Tenant != "" {
		r = r.WithHeader("tenant", r.Value.Tenant)
	}
	emit(r.WithHeader("from", r.Origin.Topic))
	return nil
}

func tenantTopic(r *connector.Record[string, Event]) string {
	if tenant, ok := r.Headers.Get("tenant"); ok {
		return "events-" + tenant
	}
	return "events-other"
}

// byKey is a partitioner of our own: other programs that write these topics must use it too.
func byKey(r *connector.Record[string, Event], n int) int {
	h := fnv.New32a()
	h.Write([]byte(r.Key))
	return int(h.Sum32() % uint32(n))
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
	app, err := topology().Build(stream.Config{Cluster: &kafka.Cluster{Brokers: strings.Split(*brokers, ",")}})
	if err == nil {
		err = app.RunUntilSignal(context.Background(), stream.Handover)
	}
	if err != nil {
		log.Fatal(err)
	}
}
