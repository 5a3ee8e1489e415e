package crashtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

// A tally is a stream.Metrics that adds up.
type tally struct {
	mu sync.Mutex
	n  map[string]int64
}

func (c *tally) Counter(name string, labels ...string) func(int64) {
	key := name + " " + strings.Join(labels, " ")
	return func(d int64) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.n == nil {
			c.n = map[string]int64{}
		}
		c.n[key] += d
	}
}

func (c *tally) Gauge(string, ...string) func(float64) { return func(float64) {} }

func (c *tally) of(name, task string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name+" task "+task]
}

// An instance is an app that is stopped and started again, with its state directory.
type instance struct {
	t       *testing.T
	broker  *kafkatest.Broker
	name    string
	group   string
	dir     string
	app     *stream.App
	ended   chan error
	metrics *tally
}

func (i *instance) start() {
	i.t.Helper()
	b := stream.New(i.group)
	b.Source(kafka.Source(i.group+"-in", serde.String, serde.String), stream.IdleAfter(24*time.Hour)).
		GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink(i.group+"-out", serde.String, serde.Int64))
	i.metrics = &tally{}
	app, err := b.Build(stream.Config{
		Cluster: &kafka.Cluster{Brokers: i.broker.Brokers()}, Instance: i.name, State: pebblestore.New(), StateDir: i.dir, MemoryBytes: 32 << 20,
		CheckpointInterval: 20 * time.Millisecond, Standbys: 1, MoveLag: 100, Metrics: i.metrics, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		i.t.Fatal(err)
	}
	i.app, i.ended = app, make(chan error, 1)
	go func() { i.ended <- app.Run(context.WithoutCancel(i.t.Context())) }()
}

func (i *instance) stop(how stream.StopMode) {
	i.t.Helper()
	if err := i.app.Stop(i.t.Context(), how); err != nil {
		i.t.Fatal(err)
	}
	if err := <-i.ended; err != nil {
		i.t.Fatal(err)
	}
	i.app = nil
}

// tasks are those it runs.
func (i *instance) tasks() (names []string) {
	if i.app == nil {
		return nil
	}
	for _, task := range i.app.Status().Tasks {
		if task.State == "running" {
			names = append(names, task.Task)
		}
	}
	return names
}

// TestInstancesJoinAndRestart has four instances join on a broker, and then each restart, while records come. Tasks end evenly spread, a
// task that stays with an instance is never restored there again, and the output is exact.
func TestInstancesJoinAndRestart(t *testing.T) {
	const tasks, members = 8, 4
	broker := kafkatest.Start(t)
	group := broker.Name("members")
	broker.CreateTopic(group+"-in", tasks, nil)
	broker.CreateTopic(group+"-out", tasks, nil)
	sent, want := 0, map[string]int64{}
	send := func() {
		var batch []*kafkatest.Record
		for range 100 {
			k := fmt.Sprint("k", sent%37)
			batch = append(batch, kafkatest.KV(k, fmt.Sprint(sent)))
			want[k]++
			sent++
		}
		broker.Produce(group+"-in", batch...)
	}
	var all []*instance
	spread := func(up int) {
		broker.Eventually(fmt.Sprintf("%d instances share the tasks", up), func() bool {
			for _, i := range all {
				if n := len(i.tasks()); i.app != nil && (n < tasks/up || n > (tasks+up-1)/up) {
					return false
				}
			}
			return true
		})
	}
	send()
	for n := range members {
		i := &instance{t: t, broker: broker, name: fmt.Sprint("i", n), group: group, dir: t.TempDir()}
		all = append(all, i)
		i.start()
		spread(n + 1)
		send()
	}
	for _, restarts := range all {
		type kept struct {
			i        *instance
			task     string
			restored int64
		}
		var stay []kept
		for _, i := range all {
			for _, task := range i.tasks() {
				if i != restarts {
					stay = append(stay, kept{i, task, i.metrics.of("weir_restored_records_total", task)})
				}
			}
		}
		restarts.stop(stream.Handover)
		send()
		spread(members - 1)
		for _, k := range stay {
			if !slices.Contains(k.i.tasks(), k.task) {
				t.Errorf("%s was taken from %s, which stayed", k.task, k.i.name)
			}
		}
		restarts.start()
		send()
		spread(members)
		for _, k := range stay {
			if n := k.i.metrics.of("weir_restored_records_total", k.task); slices.Contains(k.i.tasks(), k.task) && n != k.restored {
				t.Errorf("%s stayed with %s and was restored there again: %d records", k.task, k.i.name, n-k.restored)
			}
		}
	}
	out := broker.AwaitCount(group+"-out", sent)
	for _, i := range all {
		i.stop(stream.Handover)
	}
	records := oracle.Records{}
	for _, r := range out {
		records[r.Partition] = append(records[r.Partition], wire.Record{Key: r.Key, Value: r.Value})
	}
	if err := oracle.Counts(records, want, serde.Int64.Decode); err != nil {
		t.Error(err)
	}
}

// TestInstanceComesBackWithoutItsDisk has one of two instances stop, keep its seat and come back on an empty disk. A broker gives it what it had. It goes
// elsewhere all the same, to who has copies, and comes back when it can go on here: nothing is restored that was not followed first.
func TestInstanceComesBackWithoutItsDisk(t *testing.T) {
	const tasks = 4
	broker := kafkatest.Start(t)
	group := broker.Name("wiped")
	broker.CreateTopic(group+"-in", tasks, nil)
	broker.CreateTopic(group+"-out", tasks, nil)
	want := map[string]int64{}
	sent := 0
	send := func() {
		var batch []*kafkatest.Record
		for range 400 {
			k := fmt.Sprint("k", sent%200)
			batch = append(batch, kafkatest.KV(k, fmt.Sprint(sent)))
			want[k]++
			sent++
		}
		broker.Produce(group+"-in", batch...)
	}
	all := []*instance{{t: t, broker: broker, name: "i0", group: group, dir: t.TempDir()}, {t: t, broker: broker, name: "i1", group: group, dir: t.TempDir()}}
	shared := func() bool { return len(all[0].tasks()) == tasks/2 && len(all[1].tasks()) == tasks/2 }
	copied := func() bool {
		copies := append(all[0].app.Status().Standbys, all[1].app.Status().Standbys...)
		return len(copies) == tasks && !slices.ContainsFunc(copies, func(s stream.StandbyStatus) bool { return s.Lag != 0 || s.Err != nil })
	}
	send()
	for _, i := range all {
		i.start()
	}
	broker.Eventually("tasks are shared", shared)
	for _, i := range all {
		send()
		broker.AwaitCount(group+"-out", sent)
		broker.Eventually("copies are there", copied)
		i.stop(stream.Stay)
		if err := os.RemoveAll(i.dir); err != nil {
			t.Fatal(err)
		}
		send()
		i.start()
		broker.Eventually("tasks are shared again", shared)
		for _, task := range i.tasks() {
			followed, restored := i.metrics.of("weir_standby_records_total", task), i.metrics.of("weir_restored_records_total", task)
			if followed < 20 || restored > 100 {
				t.Errorf("%s: %d records of %s were followed, and %d restored", i.name, followed, task, restored)
			}
		}
	}
	out := broker.AwaitCount(group+"-out", sent)
	for _, i := range all {
		i.stop(stream.Handover)
	}
	records := oracle.Records{}
	for _, r := range out {
		records[r.Partition] = append(records[r.Partition], wire.Record{Key: r.Key, Value: r.Value})
	}
	if err := oracle.Counts(records, want, serde.Int64.Decode); err != nil {
		t.Error(err)
	}
}
