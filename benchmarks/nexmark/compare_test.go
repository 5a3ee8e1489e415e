//go:build engine

// Behind a tag until the engine runs; then the tag goes.

package nexmark

import (
	"context"
	"fmt"
	"testing"

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
		for _, partitions := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", q.Name, partitions), func(t *testing.T) {
				if q.Clock {
					t.Skip("runs by the wall clock: TestByClock")
				}
				rows := NewRows(q)
				if err := run(t.Context(), q, g, count, partitions, rows.Output()); err != nil {
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
		b.Run(q.Name, func(b *testing.B) {
			b.ReportAllocs()
			if err := run(b.Context(), q, g, uint64(b.N), 1, Discard()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
