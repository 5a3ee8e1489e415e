// Word count: the shortest useful program.
//
// It counts the words of the lines that come in. Without flags these are those of standard input, and the counts go to standard output;
// with -brokers the lines are the values of a topic, and the counts a compacted topic, updated exactly once.
//
//	echo to be or not to be | wordcount
//	wordcount -brokers localhost:9092
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// topology counts words, whatever the lines come from and the counts go to.
func topology(lines connector.Source[struct{}, string], counts connector.Sink[string, int64], opts ...stream.SinkOption) *stream.Builder {
	b := stream.New("wordcount")
	b.Source(lines).
		FlatMapValues(strings.Fields).
		GroupBy(func(_ struct{}, word string) string { return strings.ToLower(word) }).
		Count().
		To(counts, opts...)
	return b
}

// onKafka is the topology with topics at both ends.
func onKafka() *stream.Builder {
	return topology(kafka.Source("lines", serde.Unit, serde.String), kafka.Sink("counts", serde.String, serde.Int64))
}

// inMemory reads lines to their end and writes the counts at each checkpoint.
func inMemory(in io.Reader, out io.Writer) *stream.Builder {
	lines := memory.From("lines", func(yield func(stream.Record[struct{}, string]) bool) {
		scanner := bufio.NewScanner(in)
		for scanner.Scan() && yield(stream.Record[struct{}, string]{Value: scanner.Text(), Time: time.Now()}) {
		}
	})
	counts := memory.Each("counts", func(r *stream.Record[string, int64]) { fmt.Fprintln(out, r.Key, r.Value) })
	return topology(lines, counts, stream.AtLeastOnceSink())
}

func main() {
	brokers := flag.String("brokers", "", "host:port,… of a Kafka to use; default standard input and output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	b, config := inMemory(os.Stdin, os.Stdout), stream.Config{State: state.InMemory()}
	if *brokers != "" {
		// State in memory is rebuilt from the changelog after a restart.
		b, config.Cluster = onKafka(), &kafka.Cluster{Brokers: strings.Split(*brokers, ",")}
	}
	if err := run(ctx, b, config); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, b *stream.Builder, config stream.Config) error {
	app, err := b.Build(config)
	if err != nil {
		return err
	}
	return app.Run(ctx)
}
