package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A scenario is a topology from topic in to topic out, and what must be in out.
type scenario struct {
	name   string
	build  func(b *stream.Builder, w *world)
	check  func(out oracle.Records, w *world) error
	config func(c *stream.Config) // nil: the defaults
	disk   bool                   // state outlives a process that is killed, as far as a disk keeps it
}

const (
	partitions = 3
	records    = 90 // of the input, which comes in chunks
	chunk      = 15
	keys       = 7
)

// The input's times are those of old data: retention and compaction of everything that the app makes itself must not care.
var eventTime = time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)

// key is the key of record i.
func key(i int) string { return fmt.Sprint("k", i%keys) }

// value is that of record i, which no other one has.
func value(i int) string { return fmt.Sprint("v", i) }

func values() (all []string) {
	for i := range records {
		all = append(all, value(i))
	}
	return all
}

// counted is how often each key is put in.
func counted() map[string]int64 {
	n := map[string]int64{}
	for i := range records {
		n[key(i)]++
	}
	return n
}

// A world is one run: a cluster, and one process after the other.
type world struct {
	s    scenario
	c    *memory.Cluster
	disk *disk
	sink *memory.Collector[string, int64] // outside of the cluster
	d    *engine.Driver
	sent int
	why  []error // of recoveries
}

// patience is how many recoveries a run may need: more often than its faults can explain is no progress.
const patience = 80

// run is a scenario under a judge, from the first record to the oracle's word.
func run(s scenario, j faults.Judge) error {
	forever := map[string]string{"retention.ms": "-1"}
	w := &world{s: s, c: &memory.Cluster{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Poison: true}}
	w.disk = &disk{rand: rand.New(rand.NewPCG(1, 1))}
	w.sink = memory.Collect[string, int64]("outside")
	if err := errors.Join(w.c.Create("in", partitions, forever), w.c.Create("out", partitions, forever)); err != nil {
		return err
	}
	w.c.Judge = j
	if err := w.drive(); err != nil {
		return err
	}
	w.c.Judge = nil
	w.c.Settle() // what was late comes at the latest now: the app may have to recover once more
	for {
		err := w.d.Stop()
		if err == nil {
			return w.judged()
		}
		w.why = append(w.why, fmt.Errorf("stop: %w", err))
		w.d = nil // it has ended, if not as it should
		if err := w.drive(); err != nil {
			return err
		}
	}
}

// drive has the app work until everything is committed.
func (w *world) drive() error {
	for !w.done() {
		if err := w.step(); err != nil {
			w.recover(err)
		}
		if len(w.why) > patience {
			return fmt.Errorf("no progress; the last reasons: %w", errors.Join(w.why[len(w.why)-5:]...))
		}
	}
	return nil
}

// step has a process running, sends a chunk, and takes a checkpoint.
func (w *world) step() (err error) {
	if w.d == nil {
		if w.d, err = w.start(); err != nil {
			w.c.Advance(20 * time.Second) // longer than a session lasts
			return fmt.Errorf("start: %w", err)
		}
	}
	for range min(chunk, records-w.sent) {
		r := wire.Record{Time: eventTime.Add(time.Duration(w.sent) * time.Second).UnixMilli(), Key: []byte(key(w.sent)), Value: []byte(value(w.sent))}
		if _, err := w.c.Append("in", int32(w.sent%keys%partitions), r); err != nil {
			return err
		}
		w.sent++
	}
	return w.checkpoint()
}

// checkpoint takes one, a moment after the last: watermarks cross repartition topics with time.
func (w *world) checkpoint() error {
	w.c.Advance(2 * time.Second)
	return w.d.Checkpoint()
}

// start is what a new process does.
func (w *world) start() (*engine.Driver, error) {
	b := stream.New("app")
	w.s.build(b, w)
	config := stream.Config{
		Cluster: w.c, Exchange: stream.Local, Instance: "i", State: state.InMemory(),
		SessionTimeout: 15 * time.Second, TransactionTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
	}
	if w.s.disk {
		config.State = w.disk
	}
	if w.s.config != nil {
		w.s.config(&config)
	}
	compiled, err := b.Compile(config)
	if err != nil {
		return nil, err
	}
	d, err := engine.NewDriver(compiled.Plan, compiled.Config)
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// recover does what an app does: it goes on from the last commit, in the same process unless that was killed.
func (w *world) recover(err error) {
	w.why = append(w.why, err)
	if w.d == nil {
		return
	}
	if !errors.Is(err, faults.ErrKilled) {
		if err = w.d.Crash(); err == nil {
			return
		}
	}
	w.disk.killed()
	w.d.Close()
	w.d = nil
}

// settling is how many checkpoints it takes until what the last record caused has come out: one hop each, and some to spare.
const settling = 4

// done reports whether everything was sent and committed, by what the group says.
func (w *world) done() bool {
	if w.sent < records || w.d == nil {
		return false
	}
	var at int64
	for tp, c := range w.c.Committed("app") {
		if tp.Topic == "in" {
			at += c.Offset
		}
	}
	if at < records {
		return false
	}
	for range settling {
		if err := w.checkpoint(); err != nil {
			w.recover(err)
			return false
		}
	}
	return true
}

// judged asks the oracle.
func (w *world) judged() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l, err := w.c.Connect(ctx, "oracle")
	if err != nil {
		return err
	}
	defer l.Close()
	if err := oracle.NothingOpen(ctx, l, "app-"); err != nil {
		return err // and everything else would wait for it
	}
	out, err := oracle.Read(ctx, l, "out")
	if err != nil {
		return err
	}
	return errors.Join(w.s.check(out, w), oracle.NoLag(ctx, l, "app", "in"))
}
