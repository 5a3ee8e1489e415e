package crashtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// counter is the sum of a counter over all labels.
func (p *process) counter(name string) (n int64) {
	for key, v := range p.d.Counters() {
		if strings.HasPrefix(key, name+"{") {
			n += v
		}
	}
	return n
}

// rest has the processes work until nothing moves any more.
func (w *world) rest(t *testing.T) {
	t.Helper()
	for range 12 {
		w.c.Advance(2 * time.Second)
		for _, p := range w.procs {
			p.step()
		}
	}
	if len(w.why) > 0 {
		t.Fatal(errors.Join(w.why...))
	}
}

// TestPromotionRestoresTheTail kills one of two processes. The other has copies of its state, and restores what was committed since they
// were brought up to date, and no more.
func TestPromotionRestoresTheTail(t *testing.T) {
	w, err := newWorld(scenario{name: "promotion", build: count, check: sums, config: standby, members: 2}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for w.sent < records-chunk {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.rest(t)
	}
	dies, lives := w.procs[0], w.procs[1]
	if n := len(dies.d.Status().Tasks); n == 0 || n == partitions {
		t.Fatalf("one has %d of %d tasks", n, partitions)
	}
	if n := lives.counter("weir_standby_records_total"); n < keys/2 {
		t.Fatalf("the copies took %d records", n)
	}
	before := lives.counter("weir_restored_records_total")
	if err := w.send(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // what was sent is counted and committed, and nobody has looked yet
		dies.step()
	}
	_ = dies.conn.Close()
	dies.recover(faults.ErrKilled)
	dies.frozen = 100 // it does not come back before drive wakes it
	w.why = nil
	w.c.Advance(session + time.Second)
	w.rest(t)
	if n := len(lives.d.Status().Tasks); n != partitions {
		t.Fatalf("%d of %d tasks run", n, partitions)
	}
	tail := lives.counter("weir_restored_records_total") - before
	if tail == 0 || tail > keys { // a checkpoint writes each key once
		t.Errorf("%d records were restored", tail)
	}
	if err := w.drive(false); err != nil {
		t.Fatal(err)
	}
	w.stops(t)
	if err := w.judged(); err != nil {
		t.Error(err)
	}
}

// garbled is a connection on which what the group says of one partition cannot be read.
type garbled struct {
	wire.Log
	at wire.TopicPartition
	on *bool
}

func (g garbled) Committed(ctx context.Context, group string, of []wire.TopicPartition) (map[wire.TopicPartition]wire.Committed, error) {
	found, err := g.Log.Committed(ctx, group, of)
	if c, ok := found[g.at]; ok && *g.on {
		c.Metadata = "nonsense"
		found[g.at] = c
	}
	return found, err
}

// TestCopyOfWhichNothingCanBeSaid: a copy whose committed place cannot be read lacks who knows how much. Its task stays where it runs, and the other
// copies go on.
func TestCopyOfWhichNothingCanBeSaid(t *testing.T) {
	w, err := newWorld(scenario{name: "unsaid", build: count, check: sums, config: standby, members: 2}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	has, follows := w.procs[0], w.procs[1]
	in := wire.TopicPartition{Topic: "in", Partition: 2}
	on := true
	follows.through = func(l wire.Log) wire.Log { return garbled{l, in, &on} }
	w.procs = []*process{has}
	for w.sent < records-chunk {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.rest(t)
	}
	w.procs = []*process{has, follows}
	w.rest(t)
	copies := follows.d.Status().Standbys
	if len(copies) < 2 {
		t.Fatalf("%d copies are kept: %+v", len(copies), copies)
	}
	for _, c := range copies {
		if unsaid := strings.HasSuffix(c.Task, "/2"); unsaid != (c.Err != nil) || unsaid != (c.Lag < 0) {
			t.Errorf("copy of %s: lacks %d, error %v", c.Task, c.Lag, c.Err)
		}
	}
	if !slices.ContainsFunc(has.running(), func(name string) bool { return strings.HasSuffix(name, "/2") }) {
		t.Errorf("it runs %v without what it should have kept", has.running())
	}
	on = false
	if err := w.drive(false); err != nil {
		t.Fatal(err)
	}
	for _, c := range follows.d.Status().Standbys {
		if c.Err != nil || c.Lag != 0 {
			t.Errorf("copy of %s: lacks %d, error %v", c.Task, c.Lag, c.Err)
		}
	}
	w.stops(t)
	if err := w.judged(); err != nil {
		t.Error(err)
	}
}
