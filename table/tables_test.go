package table_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
	"github.com/weirstream/weir/table"
)

// counters are those of an app, by what they are of.
type counters struct {
	mu sync.Mutex
	n  map[string]int64
}

func (c *counters) Counter(name string, labels ...string) func(int64) {
	at := name + " " + strings.Join(labels, " ")
	return func(by int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n[at] += by
	}
}

func (c *counters) Gauge(string, ...string) func(float64) { return func(float64) {} }

// A record without a key is no row, and is no match of one: it is dropped, and counted, by whoever needs the key.
func TestWithoutAKeyThereIsNoRow(t *testing.T) {
	counted := &counters{n: map[string]int64{}}
	b := stream.New("keyless")
	text := func(name string) *kafka.TopicSource[string, string] {
		return kafka.Source(name, serde.String, serde.String)
	}
	rows := b.Table(text("rows"))
	other := b.Table(text("other"))
	both := func(a, b string) string { return a + b }
	fk := func(_, v string) (string, bool) { return v, v != "" }
	rows.Join(other, both, stream.Named("join")).To(kafka.Sink("join", serde.String, serde.String))
	rows.JoinOn(other, fk, both, stream.Named("on")).To(kafka.Sink("on", serde.String, serde.String))
	b.Source(text("in")).JoinTable(rows, both, stream.Named("look-up")).To(kafka.Sink("look-up", serde.String, serde.String))
	d := streamtest.New(t, b, streamtest.Config(func(c *stream.Config) { c.Metrics = counted }))
	for _, topic := range []string{"rows", "other", "in"} {
		d.In[string, string](topic).SendRecord(stream.Record[string, string]{NoKey: true, Value: "v", Time: d.Now()})
	}
	d.In[string, string]("rows").Send("k", "v") // "v" is the key of nothing
	d.Checkpoint()
	d.Checkpoint()
	for _, topic := range []string{"join", "on", "look-up"} {
		if got := d.Out[string, string](topic).Read(); len(got) > 0 {
			t.Errorf("%s has %v", topic, got)
		}
	}
	for _, node := range []string{"rows-table", "other-table", "look-up"} {
		if n := counted.n["weir_dropped_total node "+node+" reason no key"]; n != 1 {
			t.Errorf("%s has dropped %d: %v", node, n, counted.n)
		}
	}
}

// Inputs whose counts of partitions differ cannot be joined by their keys: the app does not begin, names both, and has asked the cluster about its
// topics and nothing else. Joins that go by another key
// need none of it.
func TestInputsMustBeCoPartitioned(t *testing.T) {
	both := func(a, b string) string { return a + b }
	fk := func(_, v string) (string, bool) { return v, true }
	text := func(name string) *kafka.TopicSource[string, string] {
		return kafka.Source(name, serde.String, serde.String)
	}
	for name, c := range map[string]struct {
		build func(b *stream.Builder) *stream.Stream[string, string]
		fine  bool
		says  []string
	}{
		"JoinTable": {build: func(b *stream.Builder) *stream.Stream[string, string] {
			return b.Source(text("two"), stream.Named("orders")).JoinTable(b.Table(text("three"), stream.Named("prices")), both)
		}, says: []string{"orders (two)", "prices-source (three)", "Repartition one"}},
		"Table.Join": {build: func(b *stream.Builder) *stream.Stream[string, string] {
			return b.Table(text("two")).Join(b.Table(text("three")), both).ToStream()
		}, says: []string{"Repartition one"}},
		"Table.JoinOn": {build: func(b *stream.Builder) *stream.Stream[string, string] {
			return b.Table(text("two")).JoinOn(b.Table(text("three")), fk, both).ToStream()
		}, fine: true},
		"JoinGlobal": {build: func(b *stream.Builder) *stream.Stream[string, string] {
			return b.Source(text("two")).JoinGlobal(b.Global(text("three")), fk, both)
		}, fine: true},
		"Repartition": {build: func(b *stream.Builder) *stream.Stream[string, string] {
			return b.Source(text("two")).Repartition(stream.Partitions(3)).JoinTable(b.Table(text("three")), both)
		}, fine: true},
		"bad Repartition": {build: func(b *stream.Builder) *stream.Stream[string, string] {
			return b.Source(text("two")).Repartition(stream.Partitions(2)).JoinTable(b.Table(text("three")), both)
		}, says: []string{"two-repartition", "Partitions(2): leave that out"}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked sync.Map
			cluster := &memory.Cluster{AutoCreate: 1, Judge: faults.JudgeFunc(func(r faults.Request) (f faults.Fate) {
				asked.Store(r.Kind, true)
				return f
			})}
			topics := map[string]int{"two": 2, "three": 3}
			for topic, n := range topics {
				if err := cluster.Create(topic, n, nil); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			b := stream.New("app")
			c.build(b).ForEach(func(stream.Record[string, string]) error { return nil })
			app, err := b.Build(stream.Config{Cluster: cluster, State: state.InMemory(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- app.Run(ctx) }()
			if c.fine {
				eventually(t, "it runs", func() bool { return len(app.Status().Tasks) > 0 || len(ended) > 0 })
				cancel()
				if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			defer cancel()
			err = <-ended
			if !errors.Is(err, stream.ErrCoPartition) {
				t.Fatalf("got %v", err)
			}
			for _, want := range append(c.says, "two", "three", "2", "3") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			// Nothing was read, written or created, and no seat in the group was taken.
			for kind := range asked.Range {
				if kind != faults.Metadata {
					t.Errorf("there was a request of kind %v", kind)
				}
			}
			if got := cluster.Topics(); !maps.Equal(got, topics) || len(cluster.Committed("app")) > 0 {
				t.Errorf("the cluster has topics %v and positions %v", got, cluster.Committed("app"))
			}
		})
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timeout, tick := time.After(30*time.Second), time.NewTicker(2*time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-timeout:
			t.Fatalf("waited 30 s until %s", what)
		case <-tick.C:
		}
	}
}

// Queries of every kind go on while records are processed, checkpoints pass and tasks move between two processes. What they see of a key
// only rises where it is committed, and ranges keep to their bounds; nothing but that a task is elsewhere or not there yet is an error.
func TestViewsWhileTasksMove(t *testing.T) {
	const keys, rounds = 32, 30
	c := &memory.Cluster{AutoCreate: 4}
	if err := c.Create("in", 4, nil); err != nil {
		t.Fatal(err)
	}
	first := member(t, c, "a")
	var queries sync.WaitGroup
	done := make(chan struct{})
	ask := func(m *counting) {
		for _, how := range []table.Read{table.Committed, table.Live} {
			queries.Go(func() { m.query(t, how, keys, done) })
		}
	}
	ask(first)
	var second *counting
	for round := range rounds {
		for k := range keys {
			key := fmt.Sprintf("k%02d", k)
			r := wire.Record{Key: []byte(key), Value: []byte("x"), Time: time.Now().UnixMilli()}
			if _, err := c.Append("in", partition.Of([]byte(key), 4), r); err != nil {
				t.Fatal(err)
			}
		}
		switch round {
		case rounds / 3:
			second = member(t, c, "b")
			ask(second)
			eventually(t, "both have tasks", func() bool { return len(first.app.Status().Tasks) == 4 && len(second.app.Status().Tasks) == 4 })
		case 2 * rounds / 3:
			second.stop(t)
		}
	}
	eventually(t, "all is counted", func() bool {
		for k := range keys {
			n, _, err := first.view.Get(t.Context(), fmt.Sprintf("k%02d", k))
			if err != nil || n != rounds {
				return false
			}
		}
		return true
	})
	close(done)
	queries.Wait()
	first.stop(t)
}

// A counting is a process of an app that counts records by key.
type counting struct {
	app   *stream.App
	view  *table.View[string, int64]
	ended chan error
}

func member(t *testing.T, c *memory.Cluster, instance string) *counting {
	t.Helper()
	b := stream.New("views")
	counts := b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().Count(stream.Named("counts"))
	counts.MapValues(func(n int64) int64 { return n }).ToStream().Repartition().ForEach(func(stream.Record[string, int64]) error { return nil })
	app, err := b.Build(stream.Config{Cluster: c, State: state.InMemory(), Exchange: stream.Kafka, Instance: instance,
		CheckpointInterval: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m := &counting{app: app, ended: make(chan error, 1)}
	if m.view, err = app.View(counts); err != nil {
		t.Fatal(err)
	}
	go func() { m.ended <- app.Run(context.Background()) }()
	return m
}

func (m *counting) stop(t *testing.T) {
	t.Helper()
	if err := errors.Join(m.app.Stop(context.Background(), stream.Handover), <-m.ended); err != nil {
		t.Error(err)
	}
}

// query asks in every way until done.
func (m *counting) query(t *testing.T, how table.Read, keys int, done chan struct{}) {
	seen := map[string]int64{}
	see := func(k string, n int64, err error) {
		elsewhere := &table.NotLocalError{}
		switch {
		case errors.Is(err, table.ErrNotRunning), errors.Is(err, table.ErrRestoring), errors.As(err, &elsewhere):
		case err != nil:
			t.Errorf("%v of %s: %v", how, k, err)
		case how == table.Committed && n < seen[k]:
			t.Errorf("%s has %d, and had %d", k, n, seen[k])
		default:
			seen[k] = n
		}
	}
	for k := 0; ; k = (k + 1) % keys {
		select {
		case <-done:
			return
		default:
		}
		key := fmt.Sprintf("k%02d", k)
		if n, ok, err := m.view.Get(context.Background(), key, how); ok || err != nil {
			see(key, n, err)
		}
		for row, err := range m.view.Range(context.Background(), "k00", key, how) {
			if err == nil && row.Key >= key {
				t.Errorf("a range to %s has %s", key, row.Key)
			}
			see(row.Key, row.Value, err)
		}
		for row, err := range m.view.All(context.Background(), how) {
			see(row.Key, row.Value, err)
		}
	}
}
