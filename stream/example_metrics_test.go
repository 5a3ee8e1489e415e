package stream_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"log/slog"
	"strings"

	"github.com/weirstream/weir/stream"
)

// published adapts package expvar: a variable for each name with its labels. A client of Prometheus is adapted in the same way.
type published struct{ all *expvar.Map }

func (p published) Counter(name string, labels ...string) func(int64) {
	key := name + "{" + strings.Join(labels, ",") + "}"
	return func(delta int64) { p.all.Add(key, delta) }
}

func (p published) Gauge(name string, labels ...string) func(float64) {
	v := new(expvar.Float)
	p.all.Set(name+"{"+strings.Join(labels, ",")+"}", v)
	return v.Set
}

// Whatever is dropped is counted: here readings that the program refuses and whose policy is to go on without them.
func ExampleMetrics() {
	b := stream.New("example")
	readings(b, "in", [2]int{1, 10}, [2]int{2, -5}, [2]int{3, 8}).
		ForEach(func(r stream.Record[string, int]) error {
			if r.Value < 0 {
				return errors.New("below nothing")
			}
			return nil
		}, stream.Named("store"), stream.OnError(stream.Skip))
	metrics := published{new(expvar.Map)}
	app, err := b.Build(stream.Config{Metrics: metrics, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = app.Run(context.Background())
	}
	fmt.Println(metrics.all.Get("weir_rejected_total{node,store}"), err)
	// Output: 1 <nil>
}
