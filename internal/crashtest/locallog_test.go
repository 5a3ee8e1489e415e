package crashtest

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/engine"
	layout "github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// TestEveryStepWithoutACluster has each call to the disk and to a sink outside meet each fate, in a run of its own, and another one soon after.
func TestEveryStepWithoutACluster(t *testing.T) {
	undisturbed := newLone(nil)
	if err := undisturbed.run(); err != nil {
		t.Fatal(err)
	}
	undisturbed.end()
	runs := 0
	with := func(fates map[int]fate) {
		l := newLone(fates)
		runs++
		if err := l.run(); err != nil {
			t.Errorf("%v: %v", fates, err)
		}
		l.end()
	}
	for at := 1; at <= undisturbed.steps && !t.Failed(); at++ {
		for f := killedBefore; f <= answerLost; f++ {
			with(map[int]fate{at: f})
			for next := at + 1; next <= at+8; next++ {
				with(map[int]fate{at: f, next: killedBefore + fate(next)%4})
			}
		}
	}
	t.Logf("%d steps, %d runs", undisturbed.steps, runs)
}

// A checkpoint of an app in which nothing has happened is a record of each task, and nothing of the checkpoints before.
func TestCheckpointsAreOfWhatHasChanged(t *testing.T) {
	l := newLone(nil)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	defer l.end()
	tasks := map[string]bool{}
	for _, st := range l.d.Status().Tasks {
		tasks[string(layout.TaskRecord(st.Task, "checkpoint"))] = true
	}
	before := len(l.disk.applied)
	l.round()
	l.round()
	if n := len(l.disk.applied) - before; n != 2 || len(tasks) != 4 {
		t.Errorf("%d batches for two checkpoints of %d tasks", n, len(tasks))
	}
	for _, a := range l.disk.applied[before:] {
		if !a.synced {
			t.Error("a batch was not synced")
		}
		n := 0
		for k := range a.batch.Ops() {
			if n++; !tasks[string(k)] {
				t.Errorf("%q was written", k)
			}
		}
		if n != len(tasks) {
			t.Errorf("%d records of %d tasks", n, len(tasks))
		}
	}
}

// A task's record that cannot be read is said, with the task: to begin anew would process everything again.
func TestDamagedTaskRecord(t *testing.T) {
	l := newLone(nil)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	name := l.d.Status().Tasks[1].Task
	l.end()
	var b state.Batch
	b.Put(layout.TaskRecord(name, "checkpoint"), []byte{4, 1, 200})
	l.disk.applied = append(l.disk.applied, applied{b, true})
	err := l.start()
	defer l.d.Close()
	if err == nil || !strings.Contains(err.Error(), "task "+name+": task record") {
		t.Errorf("start: %v", err)
	}
}

// A handle that its sink knows nothing of is lost output: to recover again would not bring it back.
func TestLostHandleEndsTheApp(t *testing.T) {
	l := newLone(nil)
	l.in.put(0)
	l.round()
	l.end()
	l.counts = memory.Collect[string, int64]("counts")
	err := l.start()
	defer l.d.Close()
	if !errors.Is(err, connector.ErrLost) || engine.Recoverable(err) {
		t.Errorf("start: recoverable %v: %v", engine.Recoverable(err), err)
	}
}

// Positions in a topic of another cluster are kept with the topic's id, like those on the app's own.
func TestSourceIsMadeAnewWithoutACluster(t *testing.T) {
	c := &memory.Cluster{}
	settings := map[string]string{"retention.ms": "-1"}
	disk, out := &disk{}, memory.Collect[string, string]("out")
	open := func() (*engine.Driver, error) {
		b := stream.New("app")
		b.Source(kafka.Source("in", serde.String, serde.String, kafka.On(elsewhere))).To(out)
		compiled, err := b.Compile(stream.Config{State: disk, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := c.Connect(t.Context(), "app")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		for _, e := range compiled.Ends() {
			if in, ok := e.Connector.(interface{ OnCluster() any }); ok && in.OnCluster() != nil {
				e.Redirect(func(env connector.Env) connector.Env {
					env.Cluster, env.Log = elsewhere, l
					return env
				})
			}
		}
		return engine.NewDriver(compiled.Plan, compiled.Config)
	}
	make := func() {
		if err := c.Create("in", 1, settings); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Append("in", 0, wire.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
			t.Fatal(err)
		}
	}
	make()
	for range 2 { // the topic is the same when it starts again
		d, err := open()
		if err == nil {
			err = d.Stop()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c.Delete("in")
	make()
	d, err := open()
	t.Cleanup(d.Close)
	if !errors.Is(err, engine.ErrTopic) || !strings.Contains(err.Error(), "topic in") || !strings.Contains(err.Error(), "made anew") {
		t.Errorf("start: %v", err)
	}
}

// What is promised without a cluster depends on where positions are kept.
func TestGuaranteeWithoutACluster(t *testing.T) {
	for _, c := range []struct {
		config stream.Config
		want   string
	}{
		{stream.Config{State: state.InMemory()}, "exactly-once"},
		{stream.Config{}, "exactly-once while the process lives: there is no State to remember positions in"},
		{stream.Config{State: state.InMemory(), Guarantee: stream.AtLeastOnce}, "at-least-once"},
		{stream.Config{Guarantee: stream.AtLeastOnce}, "at-least-once"},
	} {
		b := stream.New("app")
		b.Source(&lines{parts: [][]given{nil}}).To(memory.Collect[string, string]("out"))
		c.config.Logger = slog.New(slog.DiscardHandler)
		compiled, err := b.Compile(c.config)
		if err != nil {
			t.Fatal(err)
		}
		d, err := engine.NewDriver(compiled.Plan, compiled.Config)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Status().Guarantee; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		d.Close()
	}
}
