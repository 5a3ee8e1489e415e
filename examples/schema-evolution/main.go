// Schema-evolution shows a topic whose schema changes while everything runs.
//
// A producer writes orders with version 1 of their schema, then with version 2, which adds two fields. An app that was built for
// version 1 sums them all the while. A third version, which it could not read, is refused by the registry before anything is
// written. Then the app itself is replaced by its second version, whose state has a field more: it opens the state
// of the first. At the end a program that knows version 1 only reads the whole topic.
//
// Without flags it needs nothing but Go: broker and registry are embedded.
//
//	schema-evolution -brokers localhost:9092 -registry http://localhost:8081
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	brokers := flag.String("brokers", "", "host:port,… of a Kafka to use; default an embedded one")
	url := flag.String("registry", "", "URL of a schema registry; default one in this process")
	flag.Parse()
	if err := run(ctx, *brokers, *url, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "schema-evolution:", err)
		os.Exit(1)
	}
}

// run tells the whole story to out.
func run(ctx context.Context, brokers, url string, out io.Writer) error {
	s := &shop{out: out, brokers: strings.Split(brokers, ","), broken: make(chan error, 2)}
	if err := s.connect(ctx, url); err != nil {
		return err
	}
	if brokers == "" {
		broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topicOrders))
		if err != nil {
			return err
		}
		defer broker.Close()
		s.brokers = broker.ListenAddrs()
	}
	dir, err := os.MkdirTemp("", "schema-evolution")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s.dir = dir

	return s.story(ctx)
}

// story is what happens, in order.
func (s *shop) story(ctx context.Context) error {
	s.say("the app of version 1 is running")
	stop := s.start(ctx, firstTopology())
	defer stop()
	if err := produce(ctx, s, order{1, "ann", 1000}, order{2, "bob", 500}, order{3, "ann", 2000}); err != nil {
		return err
	}
	if err := s.await(ctx, "ann: 2 orders, 30.00", "bob: 1 orders, 5.00"); err != nil {
		return err
	}
	if err := produce(ctx, s, giftOrder{ID: 4, Customer: "ann", Cents: 750, Gift: true}, giftOrder{ID: 5, Customer: "bob", Cents: 1000, Note: new("ring twice")}); err != nil {
		return err
	}
	if err := s.await(ctx, "ann: 3 orders, 37.50", "bob: 2 orders, 15.00"); err != nil {
		return err
	}
	if err := s.tryThird(); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}

	s.say("the app of version 2 takes over its state")
	stop = s.start(ctx, secondTopology())
	defer stop()
	if err := produce(ctx, s, giftOrder{ID: 6, Customer: "ann", Cents: 50, Gift: true}); err != nil {
		return err
	}
	if err := s.await(ctx, "ann: 4 orders, 38.00, 1 gifts"); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	return s.readAllAsFirst(ctx)
}

// start runs an app and returns what stops it; stopping twice is stopping once.
func (s *shop) start(ctx context.Context, b *stream.Builder) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.work(ctx, b) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
}

// work runs an app until ctx ends. If it ends before, whoever waits for results is told.
func (s *shop) work(ctx context.Context, b *stream.Builder) error {
	app, err := b.Build(stream.Config{
		Cluster:  &kafka.Cluster{Brokers: s.brokers},
		Registry: s.registry,
		State:    pebblestore.New(),
		StateDir: s.dir,
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err == nil {
		err = app.Run(ctx)
	}
	if err != nil {
		s.broken <- err
	}
	return err
}
