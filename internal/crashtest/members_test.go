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

// A crew is the instances of an app on a broker, and what they have to count.
type crew struct {
	t      *testing.T
	broker *kafkatest.Broker
	group  string
	all    []*instance
	sent   int
	want   map[string]int64
}

func newCrew(t *testing.T, name string, tasks int) *crew {
	c := &crew{t: t, broker: kafkatest.Start(t), want: map[string]int64{}}
	c.group = c.broker.Name(name)
	c.broker.CreateTopic(c.group+"-in", tasks, nil)
	c.broker.CreateTopic(c.group+"-out", tasks, nil)
	return c
}

// instance is one more, which is not started yet.
func (c *crew) instance() *instance {
	i := &instance{t: c.t, broker: c.broker, name: fmt.Sprint("i", len(c.all)), group: c.group, dir: c.t.TempDir()}
	c.all = append(c.all, i)
	return i
}

// send puts in n records of so many keys in turn.
func (c *crew) send(n, keys int) {
	var batch []*kafkatest.Record
	for range n {
		k := fmt.Sprint("k", c.sent%keys)
		batch = append(batch, kafkatest.KV(k, fmt.Sprint(c.sent)))
		c.want[k]++
		c.sent++
	}
	c.broker.Produce(c.group+"-in", batch...)
}

// finish waits until all is counted, stops everybody and checks the counts.
func (c *crew) finish() {
	c.t.Helper()
	out := c.broker.AwaitCount(c.group+"-out", c.sent)
	for _, i := range c.all {
		i.stop(stream.Handover)
	}
	if err := oracle.Counts(recordsOf(out), c.want, serde.Int64.Decode); err != nil {
		c.t.Error(err)
	}
}

// TestInstancesJoinAndRestart has four instances join on a broker, and then each restart, while records come. Tasks end evenly spread, a
// task that stays with an instance is never restored there again, and the output is exact.
func TestInstancesJoinAndRestart(t *testing.T) {
	const tasks, members = 8, 4
	c := newCrew(t, "members", tasks)
	spread := func(up int) {
		c.broker.Eventually(fmt.Sprintf("%d instances share the tasks", up), func() bool {
			for _, i := range c.all {
				if n := len(i.tasks()); i.app != nil && (n < tasks/up || n > (tasks+up-1)/up) {
					return false
				}
			}
			return true
		})
	}
	c.send(100, 37)
	for n := range members {
		c.instance().start()
		spread(n + 1)
		c.send(100, 37)
	}
	for _, restarts := range c.all {
		type kept struct {
			i        *instance
			task     string
			restored int64
		}
		var stay []kept
		for _, i := range c.all {
			for _, task := range i.tasks() {
				if i != restarts {
					stay = append(stay, kept{i, task, i.metrics.of("weir_restored_records_total", task)})
				}
			}
		}
		restarts.stop(stream.Handover)
		c.send(100, 37)
		spread(members - 1)
		for _, k := range stay {
			if !slices.Contains(k.i.tasks(), k.task) {
				t.Errorf("%s was taken from %s, which stayed", k.task, k.i.name)
			}
		}
		restarts.start()
		c.send(100, 37)
		spread(members)
		for _, k := range stay {
			if n := k.i.metrics.of("weir_restored_records_total", k.task); slices.Contains(k.i.tasks(), k.task) && n != k.restored {
				t.Errorf("%s stayed with %s and was restored there again: %d records", k.task, k.i.name, n-k.restored)
			}
		}
	}
	c.finish()
}

// TestInstanceComesBackWithoutItsDisk has one of two instances stop, keep its seat and come back on an empty disk. A broker gives it what it had. It goes
// elsewhere all the same, to who has copies, and comes back when it can go on here: nothing is restored that was not followed first.
func TestInstanceComesBackWithoutItsDisk(t *testing.T) {
	const tasks = 4
	c := newCrew(t, "wiped", tasks)
	all := []*instance{c.instance(), c.instance()}
	shared := func() bool { return len(all[0].tasks()) == tasks/2 && len(all[1].tasks()) == tasks/2 }
	copied := func() bool {
		copies := append(all[0].app.Status().Standbys, all[1].app.Status().Standbys...)
		return len(copies) == tasks && !slices.ContainsFunc(copies, func(s stream.StandbyStatus) bool { return s.Lag != 0 || s.Err != nil })
	}
	c.send(400, 200)
	for _, i := range all {
		i.start()
	}
	c.broker.Eventually("tasks are shared", shared)
	for _, i := range all {
		c.send(400, 200)
		c.broker.AwaitCount(c.group+"-out", c.sent)
		c.broker.Eventually("copies are there", copied)
		i.stop(stream.Stay)
		if err := os.RemoveAll(i.dir); err != nil {
			t.Fatal(err)
		}
		c.send(400, 200)
		i.start()
		c.broker.Eventually("tasks are shared again", shared)
		for _, task := range i.tasks() {
			followed, restored := i.metrics.of("weir_standby_records_total", task), i.metrics.of("weir_restored_records_total", task)
			if followed < 20 || restored > 100 {
				t.Errorf("%s: %d records of %s were followed, and %d restored", i.name, followed, task, restored)
			}
		}
	}
	c.finish()
}
