// Asynchronous enrichment over HTTP: bounded, ordered per key; an outage pauses, a 404 is a dead letter.
//
//	asynchttp -brokers localhost:9092 -geo http://localhost:8080
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A Click is of a page, from an address.
type Click struct{ IP, Page string }

// A Located is a click with the country of its address.
type Located struct {
	Click   Click
	Country string
}

// maxAnswer bounds what is read of an answer, in bytes: a country is short.
const maxAnswer = 1 << 10

// geo asks a service that answers GET /<address> with a country as a JSON string.
type geo struct {
	client *http.Client
	base   string
}

// locate may be called again for the same click after a crash, so it only asks. What the service cannot do now is transient and is
// tried again; what it will never do is an error of this click.
func (g geo) locate(ctx context.Context, _ string, c Click) (Located, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+"/"+url.PathEscape(c.IP), nil)
	if err != nil {
		return Located{}, err
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return Located{}, stream.Transient(err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return Located{}, stream.Transient(fmt.Errorf("geo: %s", resp.Status))
	case resp.StatusCode != http.StatusOK:
		return Located{}, fmt.Errorf("geo: %s", resp.Status)
	}
	l := Located{Click: c}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&l.Country); err != nil {
		return Located{}, fmt.Errorf("geo: answer for %q: %w", c.IP, err)
	}
	return l, nil
}

func topology(g geo) *stream.Builder {
	b := stream.New("geo")
	dead := stream.DeadLetter(kafka.Sink("clicks-dead", serde.Bytes, serde.Bytes))
	b.Source(kafka.Source("clicks", serde.String, serde.JSON[Click]())).
		AsyncMapValues(g.locate, stream.Async{MaxInFlight: 64, Timeout: 2 * time.Second, Order: stream.ByKey}, stream.OnError(dead)).
		To(kafka.Sink("located", serde.String, serde.JSON[Located]()))
	return b
}

func main() {
	brokers := flag.String("brokers", "", "host:port,… of a Kafka; without it the topology is printed")
	base := flag.String("geo", "http://localhost:8080", "URL of the service that knows where addresses are")
	flag.Parse()
	g := geo{http.DefaultClient, *base}
	if *brokers == "" {
		t, err := topology(g).Topology()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	app, err := topology(g).Build(stream.Config{
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
