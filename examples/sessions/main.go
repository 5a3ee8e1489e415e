// Sessions with an accumulator of our own and a merger: what a visitor did between two pauses of half an hour.
//
//	sessions -brokers localhost:9092
package main

import (
	"context"
	"flag"
	"log"
	"maps"
	"strings"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// A View is a page that somebody looked at; the record's key is who.
type View struct{ Page string }

// A Visit is what is known of a session.
type Visit struct {
	Entry string
	Pages map[string]int
}

// Clone lets weir copy a Visit without encoding it.
func (v Visit) Clone() Visit { v.Pages = maps.Clone(v.Pages); return v }

func newVisit() Visit { return Visit{Pages: map[string]int{}} }

func addView(_ string, v View, visit Visit) Visit {
	if visit.Entry == "" {
		visit.Entry = v.Page
	}
	visit.Pages[v.Page]++
	return visit
}

func mergeVisits(_ string, a, b Visit) Visit { // a is the earlier one
	for p, n := range b.Pages {
		a.Pages[p] += n
	}
	return a
}

// A Row is what comes out when a visit has ended.
type Row struct {
	Visitor      string
	From, To     time.Time
	Entry        string
	Views, Pages int
}

func row(k window.Key[string], v Visit) (string, Row) {
	views := 0
	for _, n := range v.Pages {
		views += n
	}
	return k.Key, Row{k.Key, k.Span.Start(), k.Span.End(), v.Entry, views, len(v.Pages)}
}

func topology() *stream.Builder {
	b := stream.New("visits")
	views := b.Source(kafka.Source("views", serde.String, serde.JSON[View]())).
		GroupByKey().
		Session(window.Session(30 * time.Minute).Grace(time.Minute))
	views.Late().To(kafka.Sink("views-late", serde.String, serde.JSON[View]()))
	views.Aggregate(newVisit, addView, mergeVisits, stream.Named("visits")).
		ToStream().
		Map(row).
		To(kafka.Sink("visits", serde.String, serde.JSON[Row]()))
	return b
}

func main() {
	brokers := flag.String("brokers", "localhost:9092", "host:port,… of a Kafka")
	flag.Parse()
	app, err := topology().Build(stream.Config{Cluster: &kafka.Cluster{Brokers: strings.Split(*brokers, ",")}, State: state.InMemory()})
	if err != nil {
		log.Fatal(err)
	}
	if err := app.RunUntilSignal(context.Background(), stream.Handover); err != nil {
		log.Fatal(err)
	}
}
