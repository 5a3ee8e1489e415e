// Two apps in one process, one of them built twice from one description, stopped together. Each copies a topic to another cluster.
//
//	twoapps -here localhost:9092 -there otherhost:9092
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// mirror copies a topic to another cluster, exactly once.
func mirror(name, from, to string, other *kafka.Cluster) *stream.Builder {
	b := stream.New(name)
	b.Source(kafka.Source(from, serde.Bytes, serde.Bytes)).
		To(kafka.Sink(to, serde.Bytes, serde.Bytes, kafka.On(other)))
	return b
}

func main() {
	here := flag.String("here", "", "host:port,… of the Kafka to copy from")
	there := flag.String("there", "", "host:port,… of the one to copy to")
	dir := flag.String("state", "", "folder for what the apps keep; default a temporary one")
	flag.Parse()
	if *here == "" || *there == "" {
		fmt.Fprintln(os.Stderr, "twoapps needs -here and -there")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *here, *there, *dir); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, here, there, dir string) error {
	other := &kafka.Cluster{Brokers: strings.Split(there, ",")}
	config := stream.Config{
		Cluster: &kafka.Cluster{Brokers: strings.Split(here, ",")}, State: state.InMemory(), StateDir: dir, MemoryBytes: 256 << 20,
	}
	var apps []*stream.App
	var problems []error
	for _, b := range []*stream.Builder{mirror("mirror-a", "a", "a", other), mirror("mirror-b", "b", "b", other)} {
		app, err := b.Build(config)
		apps, problems = append(apps, app), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	return together(ctx, apps)
}

// together runs apps until one of them ends, and returns what went wrong with any.
func together(ctx context.Context, apps []*stream.App) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(apps))
	var wg sync.WaitGroup
	for i, app := range apps {
		wg.Go(func() {
			defer cancel() // one down, all down
			errs[i] = app.Run(ctx)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
