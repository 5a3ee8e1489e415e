package crashtest

import (
	"errors"
	"math"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// killed ends a process as kill -9 does. It starts again when it is to do something.
func (f *fleet) killed(p *process) {
	_ = p.conn.Close()
	p.recover(faults.ErrKilled)
	f.why = nil
}

// ends sends the rest and has the oracle judge.
func (f *fleet) ends() {
	f.t.Helper()
	if err := f.drive(false); err != nil {
		f.t.Fatal(err)
	}
	f.stops(f.t)
	if err := errors.Join(f.judged(), errors.Join(f.why...)); err != nil {
		f.t.Error(err)
	}
}

// TestRestartOnTheSameDiskNeedsNoRound: a member that is killed comes back within its session, as itself and with its state, and goes on with what it had.
func TestRestartOnTheSameDiskNeedsNoRound(t *testing.T) {
	f := newFleet(t, scenario{name: "restart", build: count, partitions: 4, members: 2, disk: true, chunk: 100, config: standby}, 400, 4)
	for _, p := range f.all {
		f.start(p)
	}
	for _, p := range f.all {
		had, generation, probes := len(p.running()), f.generation, f.probes
		f.killed(p)
		f.settle()
		if len(p.running()) != had || f.generation != generation || f.probes != probes {
			t.Errorf("%s had %d tasks and has %d, %d rounds later, of which %d were asked for", p.name, had, len(p.running()), f.generation-generation, f.probes-probes)
		}
	}
	f.ends()
}

// TestWipedDiskGivesWay: a member comes back within its session, as itself, and without its state. The group gives it what it had, and it asks for a round:
// its tasks go to who has copies, and come back when they can go on there.
func TestWipedDiskGivesWay(t *testing.T) {
	f := newFleet(t, scenario{name: "wiped", build: count, partitions: 4, members: 2, disk: true, chunk: 100, config: standby}, 400, 4)
	for _, p := range f.all {
		f.start(p)
	}
	for _, p := range f.all { // the second one, and the one that leads
		probes := f.probes
		f.killed(p)
		p.disk.applied = nil
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		if n := len(p.running()); n > 0 {
			t.Errorf("%s runs %d tasks without their state", p.name, n)
		}
		if f.settle(); f.probes != probes+2 { // one before it began, and one when it had copies
			t.Errorf("%s asked for %d rounds", p.name, f.probes-probes)
		}
		if n := p.counter("weir_restored_records_total"); n > 100 {
			t.Errorf("%d records were restored while a copy had them", n)
		}
		if n := p.counter("weir_standby_records_total"); n < 100 {
			t.Errorf("%d records were followed before the tasks came back", n)
		}
	}
	f.ends()
}

// TestWipedDiskWithoutCopies: where nobody has a copy, what a member had stays with it. It asks once and restores.
func TestWipedDiskWithoutCopies(t *testing.T) {
	f := newFleet(t, scenario{name: "wiped-alone", build: count, partitions: 4, members: 2, disk: true, chunk: 100, config: overKafka}, 400, 4)
	for _, p := range f.all {
		f.start(p)
	}
	f.rest(t)
	p, other := f.all[1], f.all[0]
	other.disk.applied = nil
	f.killed(other) // what it had of the second one's tasks before that came is gone
	f.settle()
	had, probes := p.running(), f.probes
	f.killed(p)
	p.disk.applied = nil
	f.settle()
	if now := p.running(); len(now) != len(had) || now[0] != had[0] || f.probes != probes+1 {
		t.Errorf("it had %v and has %v, after asking for %d rounds", had, now, f.probes-probes)
	}
	f.ends()
}

// TestKilledBeforeItReleases: a member is killed between the round that takes tasks from it and their last checkpoint. Its group gives the next process in
// its place the rest, without a round; so that one has to ask for it, or nobody would ever get them.
func TestKilledBeforeItReleases(t *testing.T) {
	f := newFleet(t, scenario{name: "handover", build: count, partitions: 4, members: 2, disk: true, chunk: 100, config: func(c *stream.Config) {
		overKafka(c)
		c.MoveLag = math.MaxInt64 - 1 // tasks move at once
	}}, 400, 4)
	gives, gets := f.all[0], f.all[1]
	f.start(gives)
	f.procs = append(f.procs, gets)
	gets.step()
	f.killed(gives)
	probes := f.probes
	if f.settle(); f.probes != probes+1 {
		t.Errorf("%d rounds were asked for", f.probes-probes)
	}
	f.ends()
}

// TestDeployAddsTasks: members are killed and come back with a version that has a sub-topology more. No round would give its tasks to anybody, so each asks.
func TestDeployAddsTasks(t *testing.T) {
	version := func(more bool) func(*stream.Builder, *world) {
		return func(b *stream.Builder, _ *world) {
			s := source(b)
			s.GroupByKey().Count(stream.OnUpdate, stream.Named("counts")).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
			if more {
				s.GroupBy(func(k, _ string) string { return k }).Count(stream.OnUpdate, stream.Named("again")).
					ToStream().To(kafka.Sink("aside", serde.String, serde.Int64))
			}
		}
	}
	f := newFleet(t, scenario{name: "grown", build: version(false), partitions: 4, outputs: []string{"aside"}, members: 2, disk: true, chunk: 100, config: standby}, 400, 4)
	for _, p := range f.all {
		f.start(p)
	}
	f.s.build = version(true)
	for _, p := range f.all {
		f.killed(p)
		f.rest(t)
	}
	tasks := 0
	for _, p := range f.procs {
		tasks += len(p.running())
	}
	if tasks != 2*f.s.partitions {
		t.Errorf("%d tasks run", tasks)
	}
	f.ends()
}
