// A store of our own: committed state in a sorted slice with a log file, behind the same overlay and checkpoints as any
// other. It passes state/statetest, which is what makes it a store.
//
//	customstore -dir /tmp/max    run it twice: the second time it goes on from where it was
package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"log"
	"os"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
)

func main() {
	dir := flag.String("dir", "", "where state is kept; default a temporary directory")
	flag.Parse()
	if *dir == "" {
		temporary, err := os.MkdirTemp("", "customstore")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(temporary)
		*dir = temporary
	}
	out := memory.Collect[string, int64]("max")
	if err := run(context.Background(), *dir, out, readings(30)); err != nil {
		log.Fatal(err)
	}
	for _, r := range out.Records() {
		fmt.Println(r.Key, r.Value)
	}
}

// run keeps the highest reading of each sensor.
func run(ctx context.Context, dir string, out connector.Sink[string, int64], in iter.Seq[stream.Record[string, int64]]) error {
	b := stream.New("sorted")
	b.Source(memory.From("readings", in)).
		GroupByKey().
		Reduce(func(a, b int64) int64 { return max(a, b) }).
		ToStream().
		To(out)
	app, err := b.Build(stream.Config{State: Sorted{}, StateDir: dir})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// readings are n readings of three sensors.
func readings(n int) iter.Seq[stream.Record[string, int64]] {
	return func(yield func(stream.Record[string, int64]) bool) {
		for i := range n {
			r := stream.Record[string, int64]{Key: fmt.Sprint("sensor ", i%3), Value: int64(i * 7919 % 100), Time: time.UnixMilli(int64(i))}
			if !yield(r) {
				return
			}
		}
	}
}
