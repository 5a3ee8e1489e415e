// The ten most viewed pages of each minute: count per page and minute, then the same minute over all pages.
//
//	topn -brokers localhost:9092
package main

import (
	"cmp"
	"context"
	"flag"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// A Click is on a page.
type Click struct{ Page string }

// A PageCount is how often a page was clicked in a minute.
type PageCount struct {
	Page string
	N    int64
}

// A Top is the most viewed pages of a minute.
type Top struct {
	Minute time.Time
	Pages  []PageCount
}

// best orders counts, and pages with the same count by their names, so that the answer does not depend on who was first.
func best(a, b PageCount) int {
	return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(b.Page, a.Page))
}

func topology() *stream.Builder {
	b := stream.New("top-pages")
	minute := window.Tumbling(time.Minute).Grace(5 * time.Second)
	b.Source(kafka.Source("clicks", serde.String, serde.JSON[Click]())).
		GroupBy(func(_ string, c Click) string { return c.Page }).
		Window(minute).
		Count(stream.Named("pages")).
		ToStream().
		// A result's time is the last millisecond of its minute, so the same minutes can be taken again.
		Map(func(k window.Key[string], n int64) (struct{}, PageCount) { return struct{}{}, PageCount{k.Key, n} }).
		GroupByKey().
		Window(window.Tumbling(time.Minute)).
		TopN(10, best, stream.Named("top")).
		ToStream().
		Map(func(k window.Key[struct{}], pages []PageCount) (struct{}, Top) {
			return struct{}{}, Top{k.Span.Start(), pages}
		}).
		To(kafka.Sink("top", serde.Unit, serde.JSON[Top]()))
	return b
}

func main() {
	brokers := flag.String("brokers", "localhost:9092", "host:port,… of a Kafka")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	app, err := topology().Build(stream.Config{Cluster: &kafka.Cluster{Brokers: strings.Split(*brokers, ",")}, State: state.InMemory()})
	if err != nil {
		log.Fatal(err)
	}
	if err := app.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
