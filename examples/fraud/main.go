// Fraud: a processor with state per card, a store of its own, a table to look up, two kinds of timers and a second output.
//
//	fraud -brokers localhost:9092
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A Txn is a payment; its key is the card.
type Txn struct {
	Merchant string
	Cents    int64
}

// A Limit is what a card may spend at one merchant.
type Limit struct{ Cents int64 }

// A Scored is a payment with how suspicious it is, from 0 to 1.
type Scored struct {
	Txn   Txn
	Score float64
}

// An Alert is for people to look at.
type Alert struct {
	Card, Why string
	At        time.Time
}

// The rules. A stolen card is tried with a small payment before it is used for a large one.
const (
	smallCents = 100
	largeCents = 50_000
	tryout     = time.Minute // how long a small payment is remembered
	quiet      = 10 * time.Minute
	busy       = 100 // payments of an hour that are too many
)

var (
	alerts  = stream.NewOutput[string, Alert]("alerts")
	blocked = stream.NewStore("blocked", serde.String, serde.Time, stream.TTL(30*24*time.Hour))
)

type fraud struct{ limits *stream.Table[string, Limit] }

// score has a name of its own, so that the signature is written once and the topology reads well.
func (f fraud) score(p *stream.Processor[string, string, Scored]) func(stream.Record[string, Txn]) error {
	var (
		small  = p.Value("small", serde.Time)              // when this card made a small payment
		spent  = p.Map("spent", serde.String, serde.Int64) // per merchant
		recent = p.List("recent", serde.JSON[Txn](), stream.TTL(time.Hour))
		block  = p.Store(blocked)
		limits = p.Table(f.limits)
		alert  = p.Output(alerts)
	)
	// In event time, so that a backlog is judged as it would have been then.
	forget := p.EventTimer("forget", func(string, time.Time) error {
		small.Clear()
		return nil
	})
	// By the clock: people look at it now.
	review := p.ClockTimer("review", func(card string, at time.Time) error {
		n := 0
		for range recent.All() {
			n++
		}
		if n > busy {
			alert.Emit(card, Alert{card, "busy", at})
		}
		return nil
	})
	return func(r stream.Record[string, Txn]) error {
		t := r.Value
		if since, ok := block.Get(r.Key); ok {
			return fmt.Errorf("card is blocked since %v", since) // to the error policy
		}
		if _, ok := small.Get(); ok && t.Cents > largeCents {
			alert.Emit(r.Key, Alert{r.Key, "small, then large", r.Time})
			block.Put(r.Key, r.Time)
		}
		if t.Cents < smallCents {
			small.Set(r.Time)
			forget.Set(r.Time.Add(tryout)) // replaces an earlier one
		}
		n, _ := spent.Get(t.Merchant)
		spent.Set(t.Merchant, n+t.Cents)
		recent.Append(t)
		review.Set(p.Now().Add(quiet))

		score := 0.0
		if l, ok := limits.Get(r.Key); ok && n+t.Cents > l.Cents {
			score = 1
		}
		p.Emit(r.Key, Scored{t, score})
		return nil
	}
}

func topology() *stream.Builder {
	b := stream.New("fraud")
	limits := b.Table(kafka.Source("limits", serde.String, serde.JSON[Limit]()))
	scored := b.Source(kafka.Source("txns", serde.String, serde.JSON[Txn]())).
		ProcessValues(fraud{limits}.score, stream.Named("score"), stream.OnError(stream.Skip))
	scored.To(kafka.Sink("scored", serde.String, serde.JSON[Scored]()))
	scored.Output(alerts).To(kafka.Sink("alerts", serde.String, serde.JSON[Alert]()))
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
	app, err := topology().Build(stream.Config{
		Cluster: &kafka.Cluster{Brokers: strings.Split(*brokers, ",")},
		State:   state.InMemory(), // rebuilt from the changelog after a restart
	})
	if err == nil {
		err = app.RunUntilSignal(context.Background(), stream.Handover)
	}
	if err != nil {
		log.Fatal(err)
	}
}
