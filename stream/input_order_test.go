package stream_test

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// lookups joins a stream with a table that may not be there.
func lookups(place func(*stream.Stream[string, string]) *stream.Stream[string, string]) *stream.Builder {
	b := stream.New("lookups")
	rows := b.Table(kafka.Source("rows", serde.String, serde.String))
	place(b.Source(kafka.Source("in", serde.String, serde.String))).
		LeftJoinTable(rows, func(v, row string, _ bool) string { return v + "+" + row }).
		To(kafka.Sink("out", serde.String, serde.String))
	return b
}

func asItIs(s *stream.Stream[string, string]) *stream.Stream[string, string] { return s }

func repartitioned(s *stream.Stream[string, string]) *stream.Stream[string, string] {
	return s.Repartition()
}

// untilWritten runs an app on a cluster until it has written n values, and returns them and its last status.
func untilWritten(t *testing.T, c *memory.Cluster, b *stream.Builder, n int, config stream.Config) ([]string, stream.Status) {
	t.Helper()
	config.Cluster, config.State = c, state.InMemory()
	app, err := b.Build(config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Run(context.Background()) }()
	until(t, "output", func() bool { return len(committedValues(t, c, "out")) >= n })
	status := app.Status()
	if err := errors.Join(app.Stop(context.Background(), stream.Handover), <-ended); err != nil {
		t.Fatal(err)
	}
	return committedValues(t, c, "out"), status
}

// topics makes the topics of lookups, and puts a record at a time into one of them.
func topics(t *testing.T, c *memory.Cluster, partitions int) (put func(topic string, p int32, key, value string, at int64)) {
	t.Helper()
	for _, name := range []string{"rows", "in", "out"} {
		if err := c.Create(name, partitions, nil); err != nil {
			t.Fatal(err)
		}
	}
	return func(topic string, p int32, key, value string, at int64) {
		t.Helper()
		if _, err := c.Append(topic, p, wire.Record{Key: []byte(key), Value: []byte(value), Time: at}); err != nil {
			t.Fatal(err)
		}
	}
}

// A task that begins processes nothing of one input before it has heard what there is of the others: a row that is earlier than a record is
// there when the record looks it up, however long the table's topic takes to answer.
func TestRecordsWaitForInputsThatWereNotHeardOf(t *testing.T) {
	refused := 0
	c := &memory.Cluster{Judge: faults.JudgeFunc(func(r faults.Request) (f faults.Fate) {
		if r.Kind == faults.Fetch && r.Topic == "rows" && refused < 3 {
			refused++
			f.Refuse = errors.New("the leader has moved")
		}
		return f
	})}
	put := topics(t, c, 1)
	put("in", 0, "k", "v", 2000)
	put("rows", 0, "k", "row", 1000)
	got, _ := untilWritten(t, c, lookups(asItIs), 1, stream.Config{})
	if want := []string{"v+row"}; !slices.Equal(got, want) || refused != 3 {
		t.Errorf("got %q after %d refusals, want %q after 3", got, refused, want)
	}
}

// Records that lie elsewhere than their keys belong are told of: once per source, with the cure, which is one.
func TestMisplacedRecordsAreToldOf(t *testing.T) {
	for _, test := range []struct {
		name  string
		build *stream.Builder
		wrong bool
		want  int
	}{
		{"as they are", lookups(asItIs), true, 1},
		{"behind a Repartition", lookups(repartitioned), true, 0},
		{"in their places", lookups(asItIs), false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &memory.Cluster{AutoCreate: 2}
			put := topics(t, c, 2)
			for i, k := range []string{"a", "b", "c", "d"} {
				p := partition.Of([]byte(k), 2)
				put("rows", p, k, "row", int64(i))
				if test.wrong {
					p = 1 - p
				}
				put("in", p, k, k, int64(10+i))
			}
			counted := &measured{values: map[string]float64{}}
			got, status := untilWritten(t, c, test.build, 4, stream.Config{Metrics: counted})
			if len(status.Warnings) != test.want {
				t.Fatalf("warnings: %q", status.Warnings)
			}
			if n, _ := counted.get("weir_misplaced_total source in"); n != float64(4*test.want) {
				t.Errorf("%v of 4 records counted", n)
			}
			if test.want > 0 {
				if w := status.Warnings[0]; !strings.Contains(w, "source in:") || !strings.Contains(w, "Repartition") {
					t.Errorf("warning: %q", w)
				}
				return
			}
			slices.Sort(got)
			if want := []string{"a+row", "b+row", "c+row", "d+row"}; !slices.Equal(got, want) {
				t.Errorf("joined: %q", got)
			}
		})
	}
}

// The same on a broker, with records of a client that hashes with FNV-1a as some Go clients do.
func TestForeignPartitionerOnKafka(t *testing.T) {
	broker := kafkatest.Start(t)
	rowsTopic, in, out := broker.Topic("rows", 2), broker.Topic("in", 2), broker.Topic("out", 2)
	for _, k := range strings.Split("abcdefgh", "") {
		h := fnv.New32a()
		_, _ = h.Write([]byte(k)) // never fails
		broker.ProduceTo(in, int32(h.Sum32()%2), kafkatest.KV(k, "v"))
		broker.Produce(rowsTopic, kafkatest.KV(k, "row"))
	}
	b := stream.New(broker.Name("app"))
	rows := b.Table(kafka.Source(rowsTopic, serde.String, serde.String), stream.Named("rows"))
	b.Source(kafka.Source(in, serde.String, serde.String)).
		LeftJoinTable(rows, func(v, row string, _ bool) string { return v + "+" + row }, stream.Named("join")).
		To(kafka.Sink(out, serde.String, serde.String))
	app, err := b.Build(stream.Config{Cluster: &kafka.Cluster{Brokers: broker.Brokers()}, State: state.InMemory()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Run(context.Background()) }()
	broker.AwaitCount(out, 8)
	status := app.Status()
	if err := errors.Join(app.Stop(context.Background(), stream.Handover), <-ended); err != nil {
		t.Fatal(err)
	}
	if w := status.Warnings; len(w) != 1 || !strings.Contains(w[0], "source "+in+":") {
		t.Errorf("warnings: %q", w)
	}
}
