// Branches: by predicate, by type, by a parser; each is a stream of its own type.
//
//	branch                             sample events, in memory
//	branch -brokers localhost:9092     topics events, amounts and rest
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// An Event is one of the types below.
type Event interface{ event() }

// The events of an order.
type (
	Placed    struct{ Cents int64 }
	Refunded  struct{ Cents int64 }
	Cancelled struct{ Reason string }
)

func (Placed) event()    {}
func (Refunded) event()  {}
func (Cancelled) event() {}

// events is how the types of an interface share a topic: a letter says which one follows.
var events = serde.New("event/1", appendEvent, decodeEvent)

func appendEvent(dst []byte, e Event) ([]byte, error) {
	kind := byte('?')
	switch e.(type) {
	case Placed:
		kind = 'p'
	case Refunded:
		kind = 'r'
	case Cancelled:
		kind = 'c'
	default:
		return dst, fmt.Errorf("event %T has no letter", e)
	}
	b, err := json.Marshal(e)
	return append(append(dst, kind), b...), err
}

func decodeEvent(b []byte) (Event, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("an event has no letter")
	}
	switch kind, text := b[0], b[1:]; kind {
	case 'p':
		return decode[Placed](text)
	case 'r':
		return decode[Refunded](text)
	case 'c':
		return decode[Cancelled](text)
	default:
		return nil, fmt.Errorf("event with the letter %q", kind)
	}
}

func decode[E Event](text []byte) (Event, error) {
	var e E
	err := json.Unmarshal(text, &e)
	return e, err
}

// topology sends amounts of money one way, and the rest another. What tests ordered goes nowhere.
func topology(from connector.Source[string, Event], amounts connector.Sink[string, int64], rest connector.Sink[string, Event], opts ...stream.SinkOption) *stream.Builder {
	b := stream.New("branch")
	br := b.Source(from).Split()
	test := br.When("test", func(k string, _ Event) bool { return strings.HasPrefix(k, "test-") })
	placed := br.OfType[Placed]("placed")
	refunded := br.As("refunded", func(e Event) (int64, bool) { r, ok := e.(Refunded); return -r.Cents, ok })

	test.Peek(func(k string, _ Event) { log.Println("a test:", k) })
	placed.MapValues(func(p Placed) int64 { return p.Cents }).Merge(refunded).To(amounts, opts...)
	br.Else("rest").To(rest, opts...)
	return b
}

// onKafka is the topology with topics at its ends.
func onKafka() *stream.Builder {
	return topology(kafka.Source("events", serde.String, events), kafka.Sink("amounts", serde.String, serde.Int64), kafka.Sink("rest", serde.String, events))
}

// inMemory runs over a few events and prints where they went.
func inMemory() *stream.Builder {
	sample := memory.From("events", func(yield func(stream.Record[string, Event]) bool) {
		for i, e := range []Event{Placed{995}, Refunded{100}, Cancelled{"too late"}} {
			if !yield(stream.Record[string, Event]{Key: fmt.Sprint("order-", i), Value: e, Time: time.Now()}) {
				return
			}
		}
	})
	return topology(sample,
		memory.Each("amounts", func(r *stream.Record[string, int64]) { fmt.Println("amount", r.Key, r.Value) }),
		memory.Each("rest", func(r *stream.Record[string, Event]) { fmt.Printf("rest %s %T\n", r.Key, r.Value) }),
		stream.AtLeastOnceSink())
}

func main() {
	brokers := flag.String("brokers", "", "host:port,… of a Kafka to use; default sample events in memory")
	flag.Parse()
	b, config := inMemory(), stream.Config{}
	if *brokers != "" {
		b, config.Cluster = onKafka(), &kafka.Cluster{Brokers: strings.Split(*brokers, ",")}
	}
	app, err := b.Build(config)
	if err == nil {
		err = app.RunUntilSignal(context.Background(), stream.Handover)
	}
	if err != nil {
		log.Fatal(err)
	}
}
