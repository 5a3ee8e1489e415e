package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/table"
)

// counting is an app that counts the values of topic in by key, and its table.
func counting(t *testing.T, c *memory.Cluster, config stream.Config) (*stream.App, *table.View[string, int64]) {
	t.Helper()
	b := stream.New("counting")
	counts := b.Source(kafka.Source("in", serde.String, serde.String), stream.MaxFuture(-1)).GroupByKey().Count()
	config.Cluster, config.State, config.CheckpointInterval = c, state.InMemory(), 5*time.Millisecond
	app, err := b.Build(config)
	if err != nil {
		t.Fatal(err)
	}
	view, err := app.View(counts)
	if err != nil {
		t.Fatal(err)
	}
	return app, view
}

// running runs an app until stop is called.
func running(t *testing.T, app *stream.App) (stop func()) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- app.Run(context.WithoutCancel(t.Context())) }()
	return sync.OnceFunc(func() {
		t.Helper()
		if err := app.Stop(context.Background(), stream.Handover); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestStaleReadsAStandby asks each of two processes for keys of both: Committed says where the others are, Stale has them all.
func TestStaleReadsAStandby(t *testing.T) {
	const n = 200
	c := &memory.Cluster{AutoCreate: 4}
	if err := c.Create("in", 4, nil); err != nil {
		t.Fatal(err)
	}
	writing(t, c, "in", 0, n)
	first, view := counting(t, c, stream.Config{Standbys: 1})
	second, view2 := counting(t, c, stream.Config{Standbys: 1})
	defer running(t, first)()
	defer running(t, second)()
	rows := func(v *table.View[string, int64], how table.Read) (rows int) {
		for _, err := range v.All(t.Context(), how) {
			if err != nil {
				return -1
			}
			rows++
		}
		return rows
	}
	until(t, "both to have all rows, and half of the tasks", func() bool {
		return len(first.Status().Tasks) == 2 && len(second.Status().Tasks) == 2 && rows(view, table.Stale) == n && rows(view2, table.Stale) == n
	})
	if a, b := rows(view, table.Committed), rows(view2, table.Committed); a == 0 || b == 0 || a+b != n {
		t.Errorf("%d and %d of %d rows are committed", a, b, n)
	}
	elsewhere := 0
	for i := range n {
		key := fmt.Sprint(i)
		_, _, err := view.Get(t.Context(), key)
		if not := (*table.NotLocalError)(nil); errors.As(err, &not) {
			elsewhere++
		}
		if v, ok, err := view.Get(t.Context(), key, table.Stale); err != nil || !ok || v != 1 {
			t.Fatalf("%s: %d %v %v", key, v, ok, err)
		}
	}
	if elsewhere == 0 {
		t.Error("no key is elsewhere")
	}
	for _, copied := range first.Status().Standbys {
		if copied.Lag != 0 || copied.Err != nil || copied.Coming {
			t.Errorf("%+v", copied)
		}
	}
	if n := len(first.Status().Standbys); n != 2 {
		t.Errorf("%d copies, want one of each task that it does not run", n)
	}
}

// TestRestoresAreTold has a second process take over the whole state of the first.
func TestRestoresAreTold(t *testing.T) {
	const n = 200
	c := &memory.Cluster{AutoCreate: 2}
	if err := c.Create("in", 2, nil); err != nil {
		t.Fatal(err)
	}
	writing(t, c, "in", 0, n)
	first, view := counting(t, c, stream.Config{})
	stop := running(t, first)
	until(t, "all rows", func() bool {
		rows := 0
		for range view.All(t.Context()) {
			rows++
		}
		return rows == n
	})
	stop()
	var mu sync.Mutex
	told := map[string][]stream.Restore{}
	second, _ := counting(t, c, stream.Config{OnRestore: func(r stream.Restore) {
		mu.Lock()
		defer mu.Unlock()
		told[r.Task] = append(told[r.Task], r)
	}})
	stop = running(t, second)
	<-second.Ready()
	stop()
	if len(told) != 2 {
		t.Errorf("%d tasks of 2 were restored: %v", len(told), told)
	}
	for task, all := range told {
		begun, ended := all[0], all[len(all)-1]
		if begun.Done != 0 || begun.Total < n/4 || begun.Ended {
			t.Errorf("%s begins with %+v", task, begun)
		}
		if ended.Done != begun.Total || !ended.Ended || ended.Err != nil || ended.Left != 0 {
			t.Errorf("%s ends with %+v", task, ended)
		}
	}
}

// TestTwoProcessesWithOneInstance: the one that came first stops, and says why.
func TestTwoProcessesWithOneInstance(t *testing.T) {
	c := &memory.Cluster{AutoCreate: 1}
	if err := c.Create("in", 1, nil); err != nil {
		t.Fatal(err)
	}
	first, _ := counting(t, c, stream.Config{Instance: "same"})
	second, _ := counting(t, c, stream.Config{Instance: "same"})
	ended := make(chan error, 1)
	go func() { ended <- first.Run(context.WithoutCancel(t.Context())) }()
	<-first.Ready()
	stop := running(t, second)
	err := <-ended
	if !errors.Is(err, stream.ErrFenced) || !strings.Contains(err.Error(), `another process uses instance id "same"`) {
		t.Errorf("the first one ended with %v", err)
	}
	<-second.Ready()
	stop()
}
