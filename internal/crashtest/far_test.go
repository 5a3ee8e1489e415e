package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// TestEveryStepOfARelay has each request to the second cluster fail once, in each way there is, in a run of its own.
func TestEveryStepOfARelay(t *testing.T) {
	s := scenario{name: "far-pass", build: farPass, check: everything, far: true}
	count := 0
	runs := 0
	with := func(j faults.Judge) error {
		w, err := newWorld(s, 0, nil)
		if err != nil {
			return err
		}
		w.far.Judge = j
		return w.run()
	}
	if err := with(faults.JudgeFunc(func(faults.Request) (f faults.Fate) { count++; return f })); err != nil {
		t.Fatal(err)
	}
	for name, fate := range stepFates {
		for i := 1; i <= count; i++ {
			at := 0
			var what faults.Request
			err := with(faults.JudgeFunc(func(r faults.Request) (f faults.Fate) {
				if at++; at == i {
					what, f = r, fate
				}
				return f
			}))
			if err != nil {
				t.Errorf("request %d (%s of %s/%d) %s: %v", i, what.Kind, what.Topic, what.Partition, name, err)
			}
			runs++
		}
	}
	t.Logf("%d requests, %d runs", count, runs)
}

// A breaker is a judge that refuses everything while it is off. It is used by several goroutines, and asked by one at a time.
type breaker struct{ off chan bool }

func newBreaker() *breaker { b := &breaker{make(chan bool, 1)}; b.off <- false; return b }

func (b *breaker) set(off bool) { <-b.off; b.off <- off }

func (b *breaker) Judge(faults.Request) (f faults.Fate) {
	off := <-b.off
	b.off <- off
	if off {
		f.Refuse = errors.New("the test's second cluster is down")
	}
	return f
}

// TestSecondClusterIsDown runs an app past an outage of its second cluster: it works on until its outbox is full, says why it waits, starts anew
// meanwhile, and catches up.
func TestSecondClusterIsDown(t *testing.T) {
	const room = 40
	s := scenario{name: "far-pass", build: farPass, far: true}
	w, err := newWorld(s, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBreaker()
	w.far.Judge = b
	sent := 0
	send := func(n int) {
		for range n {
			r := wire.Record{Time: eventTime.UnixMilli(), Key: []byte("k"), Value: []byte("v" + strconv.Itoa(sent))}
			if _, err := w.c.Append("in", int32(sent%partitions), r); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	app, stop := w.live(t, room)
	send(30)
	until(t, "all is carried", func() bool { return w.arrived(t) == 30 })
	b.set(true)
	send(60)
	// Within its room the app does not notice: 20 records a partition and their markers.
	until(t, "the outage is seen, and input read on", func() bool {
		st := app.Status()
		return st.Paused != nil && strings.Contains(st.Paused.Error(), "outbox app-to-out-outbox/") && outboxed(st) >= 60 && processed(st) == 90
	})
	waits, last := 0, engine.Status{}
	until(t, "the input waits", func() bool {
		if sent < 10_000 {
			send(10)
		}
		st := app.Status()
		if processed(st) != processed(last) || processed(st) >= int64(sent) {
			waits, last = 0, st
		} else if st.Checkpoint > last.Checkpoint {
			waits, last = waits+1, st
		}
		return waits > 5
	})
	if sent == 10_000 || outboxed(app.Status()) < room {
		t.Errorf("of %d records %d wait in the outbox, which has room for %d a partition", sent, outboxed(app.Status()), room)
	}
	if n := w.arrived(t); n != 30 {
		t.Errorf("%d records have arrived while the cluster is down", n)
	}
	stop()
	// A start while the other cluster is down: what its topics are like is known from before.
	app, stop = w.live(t, room)
	until(t, "it runs again", func() bool { return outboxed(app.Status()) > 0 && app.Status().Paused != nil })
	b.set(false)
	until(t, "all is carried", func() bool { return w.arrived(t) >= sent })
	stop()
	var want []string
	for i := range sent {
		want = append(want, "v"+strconv.Itoa(i))
	}
	out := w.read(t)
	if err := errors.Join(oracle.Once(out, want), inOrder(out)); err != nil {
		t.Error(err)
	}
}

// live runs an app of the world with all its goroutines.
func (w *world) live(t *testing.T, room int64) (app *engine.App, stop func()) {
	t.Helper()
	b := stream.New("app")
	w.s.build(b, w)
	c, err := b.Compile(stream.Config{
		Cluster: w.c, Instance: "i", State: state.InMemory(), OutboxRecords: room, CheckpointInterval: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{w: w}
	if err := p.redirect(c); err != nil {
		t.Fatal(err)
	}
	app = engine.New(c.Plan, c.Config)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	return app, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		_ = p.far.Close()
	}
}

// arrived is how many records are in out.
func (w *world) arrived(t *testing.T) (n int) {
	for _, records := range w.read(t) {
		n += len(records)
	}
	return n
}

func (w *world) read(t *testing.T) oracle.Records {
	t.Helper()
	all, err := recordsIn(w.far, "out")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inOrder checks that the values of each partition of in, which come round robin, keep their order.
func inOrder(out oracle.Records) error {
	for p, records := range out {
		last := map[int]int{}
		for _, r := range records {
			i, err := strconv.Atoi(string(r.Value[1:]))
			if err != nil {
				return err
			}
			if before, ok := last[i%partitions]; ok && i < before {
				return fmt.Errorf("partition %d: v%d comes behind v%d", p, i, before)
			}
			last[i%partitions] = i
		}
	}
	return nil
}

func outboxed(s engine.Status) (n int64) {
	for _, t := range s.Tasks {
		n += t.Outbox
	}
	return n
}

func processed(s engine.Status) (n int64) {
	for _, t := range s.Tasks {
		n += t.Processed
	}
	return n
}

// until polls.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline, again := time.After(30*time.Second), time.NewTicker(2*time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not so: %s", what)
		case <-again.C:
		}
	}
}
