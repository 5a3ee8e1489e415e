// Flights counts all flights out of New York in 2013 by destination, sums their delays by carrier, and joins them with tables of aircraft,
// airlines and weather.
//
// It loads the lines of a file into a Kafka topic, runs a topology over it, exactly once, and prints what a read_committed consumer
// finds in the output topics. Without flags it needs nothing but Go: the broker is an embedded one, the data January's.
//
//	flights                                  January, embedded broker
//	flights -data flights.csv.zip            another file of the same form: the whole year, say
//	flights -brokers localhost:9092          a real Kafka
//	flights -crash                           kills the app at random moments and starts it again
//	flights -json                            prints the results for scripts
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

type options struct {
	brokers    []string
	data       string
	dir        string
	partitions int
	crash      bool
	asJSON     bool
	worker     bool
	interval   time.Duration
}

func flags() (o options) {
	brokers := flag.String("brokers", "", "host:port,… of a Kafka to use; default an embedded one")
	flag.StringVar(&o.data, "data", "", "a CSV file of the same form, plain, .gz or .zip; default January 2013")
	flag.StringVar(&o.dir, "state", "", "folder for state; default a temporary one")
	flag.IntVar(&o.partitions, "partitions", 4, "of the topics")
	flag.BoolVar(&o.crash, "crash", false, "kill the app at random moments and start it again")
	flag.BoolVar(&o.asJSON, "json", false, "print the results as JSON")
	flag.BoolVar(&o.worker, "worker", false, "only run the app, until it is told to stop")
	flag.DurationVar(&o.interval, "interval", 200*time.Millisecond, "between checkpoints")
	flag.Parse()
	if *brokers != "" {
		o.brokers = strings.Split(*brokers, ",")
	}
	return o
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := flags()
	progress := io.Writer(os.Stderr)
	if err := run(ctx, o, os.Stdout, progress); err != nil {
		fmt.Fprintln(os.Stderr, "flights:", err)
		os.Exit(1)
	}
}

// run does everything and writes the results to out.
func run(ctx context.Context, o options, out, progress io.Writer) (err error) {
	if o.worker {
		return work(ctx, o)
	}
	if len(o.brokers) == 0 {
		broker, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return err
		}
		defer broker.Close()
		o.brokers = broker.ListenAddrs()
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "flights"); err != nil {
			return err
		}
		defer os.RemoveAll(o.dir)
	}
	fmt.Fprintln(progress, "loading flights into Kafka")
	if err := loadTables(ctx, o.brokers, o.data, o.partitions); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	lines, err := load(ctx, o.brokers, o.data, topicFlights, o.partitions)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	if o.crash {
		err = withCrashes(ctx, o, lines, progress)
	} else {
		err = undisturbed(ctx, o, lines, progress)
	}
	if err != nil {
		return err
	}
	r, err := read(ctx, o.brokers, lines)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	if o.asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	r.print(out)
	if o.crash {
		return nil
	}
	return showWindows(ctx, o, out, progress)
}

// work runs the app.
func work(ctx context.Context, o options) error { return serve(ctx, o, topology(o.partitions)) }

// serve runs an app until ctx ends.
func serve(ctx context.Context, o options, b *stream.Builder) error {
	app, err := b.Build(stream.Config{
		Cluster:            &kafka.Cluster{Brokers: o.brokers},
		State:              pebblestore.New(),
		StateDir:           o.dir,
		CheckpointInterval: o.interval,
		Logger:             slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// undisturbed runs the app in this process until everything is committed.
func undisturbed(ctx context.Context, o options, lines int64, progress io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- work(ctx, o) }()
	watched := make(chan error, 1)
	go func() { watched <- watch(ctx, o.brokers, lines, progress, nil) }()
	select {
	case err := <-ended:
		return errors.Join(err, errors.New("the app ended before its input"))
	case err := <-watched:
		cancel()
		return errors.Join(err, <-ended)
	}
}

// watch shows how many lines are committed, until all are. at is called with that number as it grows.
func watch(ctx context.Context, brokers []string, lines int64, progress io.Writer, at func(done int64)) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	began := time.Now()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		done, behind := committed(ctx, admin)
		bar(progress, done, lines, time.Since(began))
		if at != nil {
			at(done)
		}
		if done >= lines && behind == 0 {
			fmt.Fprintln(progress)
			return nil
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// committed is how many lines the app has committed, and how many records its repartition topics still hold for it.
func committed(ctx context.Context, admin *kadm.Client) (done, behind int64) {
	lags, err := admin.Lag(ctx, app)
	if err != nil {
		return 0, 1
	}
	for _, l := range lags[app].Lag.Sorted() {
		switch {
		case l.Topic == topicFlights:
			done += max(0, l.Commit.At)
		case strings.HasSuffix(l.Topic, "-repartition"):
			behind += max(0, l.Lag)
		}
	}
	return done, behind
}

// bar draws the progress.
func bar(w io.Writer, done, all int64, took time.Duration) {
	const width = 40
	filled := int(width * done / max(1, all))
	fmt.Fprintf(w, "\r[%s%s] %d of %d lines, %.1f s ", strings.Repeat("█", filled), strings.Repeat("·", width-filled), done, all, took.Seconds())
}
