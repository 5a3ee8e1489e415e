package nexmark

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// run runs a query over the first events in one process, to the end.
func run(ctx context.Context, q Query, g *event.Generator, count uint64, partitions int, out Output) error {
	b := stream.New("nexmark-" + q.Name)
	q.Build(b, b.Source(Source(g, count, partitions)), out)
	app, err := b.Build(stream.Config{State: state.InMemory(), Exchange: stream.Local})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// Every query returns what package answer says, whatever the number of partitions.
func TestQueriesAgainstAnswers(t *testing.T) {
	const count = 48_000 // 48 s of event time, and a multiple of the partitions
	g := event.New(event.Config{PerSecond: 1000})
	for _, q := range Queries() {
		if q.Clock {
			continue // its last windows close when the input has ended and the clock goes on, which streamtest can do
		}
		for _, partitions := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", q.Name, partitions), func(t *testing.T) {
				rows := NewRows(q)
				switch err := run(t.Context(), q, g, count, partitions, rows.Output()); {
				case errors.Is(err, stream.ErrNotBuilt):
					t.Skip(err)
				case err != nil:
					t.Fatal(err)
				}
				if err := rows.Check(q, g.First(count)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Generator to nothing, with the local exchange: what the engine costs per event.
func BenchmarkQuery(b *testing.B) {
	g := event.New(event.Config{})
	for _, q := range Queries() {
		b.Run(q.Name+"/weir", func(b *testing.B) {
			b.ReportAllocs()
			began := cpu(b)
			switch err := run(b.Context(), q, g, uint64(b.N), 1, Discard()); {
			case errors.Is(err, stream.ErrNotBuilt):
				b.Skip(err)
			case err != nil:
				b.Fatal(err)
			}
			b.ReportMetric(float64((cpu(b)-began).Nanoseconds())/float64(b.N), "cpu-ns/rec")
		})
	}
}

// cpu is what this process has used, in user and kernel mode.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
