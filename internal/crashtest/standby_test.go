package crashtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/faults"
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
