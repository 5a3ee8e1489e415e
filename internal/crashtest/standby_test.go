package crashtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
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
	moving := dies.running()
	for _, c := range lives.d.Status().Standbys {
		if c.Lag != 0 || c.Err != nil {
			t.Fatalf("the copy of %s lacks %d, error %v", c.Task, c.Lag, c.Err)
		}
	}
	before, copied := lives.counter("weir_restored_records_total"), w.logged(t, moving)
	if err := w.send(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // what was sent is counted and committed, and nobody has looked yet
		dies.step()
	}
	written := w.logged(t, moving) - copied
	if written == 0 || written >= copied {
		t.Fatalf("%d records were written behind %d that are in the copies: a tail cannot be told from the whole", written, copied)
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
	if tail == 0 || tail > written {
		t.Errorf("%d records were restored, of %d that were written behind the copies' last place, and %d before", tail, written, copied)
	}
	if err := w.drive(false); err != nil {
		t.Fatal(err)
	}
	w.stops(t)
	if err := w.judged(); err != nil {
		t.Error(err)
	}
}

// logged is how many records are committed in the changelogs of some tasks.
func (w *world) logged(t *testing.T, tasks []string) (n int64) {
	t.Helper()
	for topic := range w.c.Topics() {
		for _, task := range tasks {
			if !strings.HasSuffix(topic, "-changelog") {
				continue
			}
			var p int32
			if _, err := fmt.Sscanf(task[strings.LastIndex(task, "/"):], "/%d", &p); err != nil {
				t.Fatal(err)
			}
			records, _, err := w.c.Records(topic, p, 0)
			if err != nil {
				t.Fatal(err)
			}
			n += int64(len(records))
		}
	}
	return n
}

// garbled is a connection on which what the group says of one partition cannot be read.
type garbled struct {
	wire.Log
	at wire.TopicPartition
	on *bool
}

func (g garbled) Settled(ctx context.Context, group string, of []wire.TopicPartition) (map[wire.TopicPartition]wire.Committed, map[wire.TopicPartition]bool, error) {
	found, open, err := g.Log.Settled(ctx, group, of)
	if c, ok := found[g.at]; ok && *g.on {
		c.Metadata = "nonsense"
		found[g.at] = c
	}
	return found, open, err
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

// TestOpenTransactionHoldsUpOneCopy: of three processes one is frozen between a commit and its markers. The copies of its task wait without a word,
// and say why when it lasts; those of the other tasks go on.
func TestOpenTransactionHoldsUpOneCopy(t *testing.T) {
	counts := func(b *stream.Builder, _ *world) {
		source(b).GroupByKey().Count(stream.OnUpdate, stream.Named("counts")).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
	}
	for _, missing := range []string{faults.OffsetsTopic, "app-counts-changelog"} {
		t.Run(missing, func(t *testing.T) {
			w, err := newWorld(scenario{name: "held", build: counts, check: sums, members: 3, config: func(c *stream.Config) {
				standby(c)
				c.Standbys = 2
			}}, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			for w.sent < records/3 {
				if err := w.send(); err != nil {
					t.Fatal(err)
				}
				w.rest(t)
			}
			frozen, others := w.procs[0], w.procs[1:]
			if len(frozen.running()) != 1 {
				t.Fatalf("it runs %v", frozen.running())
			}
			of := frozen.running()[0]
			if err := w.send(); err != nil {
				t.Fatal(err)
			}
			var held []wire.TopicPartition
			for p := range int32(partitions) {
				held = append(held, wire.TopicPartition{Topic: missing, Partition: p})
			}
			w.c.HoldMarkers(held...)
			frozen.work()
			frozen.step()
			w.c.HoldMarkers(wire.TopicPartition{Topic: "none"}) // of what ends from now on
			took := func(task string) (n int64) {
				for _, p := range others {
					n += p.d.Counters()["weir_standby_records_total{task,"+task+"}"]
				}
				return n
			}
			before := map[string]int64{}
			for _, p := range others {
				for _, task := range p.running() {
					before[task] = took(task)
				}
			}
			before[of] = took(of)
			step := func() {
				for range 3 {
					for _, p := range others {
						if !p.step() {
							t.Fatal(errors.Join(w.why...))
						}
					}
				}
			}
			step()
			for task, n := range before {
				if got := took(task) - n; (got > 0) != (task != of) {
					t.Errorf("copies of %s took %d records while %s was held up", task, got, of)
				}
			}
			errs := func() (n int) {
				for _, p := range others {
					for _, c := range p.d.Status().Standbys {
						if c.Err != nil {
							n++
							if c.Task != of {
								t.Errorf("copy of %s: %v", c.Task, c.Err)
							}
						}
					}
				}
				return n
			}
			if n := errs(); n > 0 {
				t.Errorf("%d copies complain of a moment", n)
			}
			w.c.Advance(11 * time.Second)
			if step(); errs() != len(others) {
				t.Errorf("%d of %d copies say what holds them up", errs(), len(others))
			}
			w.c.Settle()
			if err := w.drive(false); err != nil {
				t.Fatal(err)
			}
			if n := errs(); n > 0 {
				t.Errorf("%d copies still complain", n)
			}
			w.stops(t)
			if err := w.judged(); err != nil {
				t.Error(err)
			}
		})
	}
}
