package crashtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// throughExchange runs an app that repartitions until so many results are committed, and ends it by Stop(Drain).
func throughExchange(t *testing.T, c *memory.Cluster, exchange stream.Exchange, results int) error {
	t.Helper()
	app, ended := runs(t, c, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).
			GroupBy(func(_, v string) string { return v }, stream.Named("by-value")).
			Count().
			To(kafka.Sink("out", serde.String, serde.Int64))
	}, func(config *stream.Config) { config.Exchange = exchange })
	until(t, "the results are there, or the app has ended", func() bool {
		return len(outputs(t, c)) >= results && len(app.Status().Tasks) > 0 || len(ended) > 0
	})
	if err := app.Stop(t.Context(), stream.Drain); err != nil && len(ended) == 0 {
		t.Fatal(err)
	}
	return <-ended
}

// The local exchange does not read repartition topics: what a run with the other one has left in them would be lost.
func TestExchangeIsChanged(t *testing.T) {
	c := &memory.Cluster{}
	inAndOut(t, c, partitions)
	const between = "app-by-value-repartition"
	appendTo(t, c, 0)
	if err := throughExchange(t, c, stream.Kafka, 1); err != nil {
		t.Fatal(err)
	}
	appendTo(t, c, 1)
	if err := throughExchange(t, c, stream.Local, 2); err != nil { // drained: marks and markers are not records
		t.Fatal(err)
	}
	c.ForgetOffsets("app") // … of topics that are not read any more, as brokers do; of all here
	if err := throughExchange(t, c, stream.Local, 2); err != nil {
		t.Fatalf("positions of the drained topic were forgotten: %v", err)
	}
	offset, err := c.Append(between, 2, wire.Record{Time: time.Now().UnixMilli(), Key: []byte("v"), Value: []byte("v")})
	if err != nil {
		t.Fatal(err)
	}
	err = throughExchange(t, c, stream.Local, 3)
	if !errors.Is(err, stream.ErrTopology) || !strings.Contains(err.Error(), between+"/2 has records from offset") || !strings.Contains(err.Error(), "Stop(Drain)") {
		t.Fatalf("a record is left at %d: %v", offset, err)
	}
	c.Delete(between)
	if err := throughExchange(t, c, stream.Local, 2); err != nil {
		t.Fatalf("it was given up: %v", err)
	}
}
