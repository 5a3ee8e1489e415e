package crashtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

var stateKeys = flag.Int("statekeys", 3000, "how many keys of state TestInstancesAreRestartedInTurn has, of a hundred bytes each")

// A fleet is several processes that are started and restarted in turn, and what their group went through.
type fleet struct {
	*world
	t          *testing.T
	all        []*process
	want       map[string]int64
	changes    int   // members that came or went
	probes     int   // rounds that a member asked for
	generation int32 // the last
}

func (f *fleet) watches(m wire.Membership) wire.Membership { return watchedSeat{m, f} }

// watchedSeat tells a fleet of the group.
type watchedSeat struct {
	wire.Membership
	f *fleet
}

func (s watchedSeat) Rejoin() {
	s.f.probes++
	s.Membership.Rejoin()
}

func (s watchedSeat) Identity() wire.Identity {
	who := s.Membership.Identity()
	s.f.generation = max(s.f.generation, who.Generation)
	return who
}

// newFleet makes members that are down, and an input of many keys in which each comes several times.
func newFleet(t *testing.T, s scenario, keys, rounds int) *fleet {
	t.Helper()
	f := &fleet{t: t, want: map[string]int64{}}
	for i := range keys * rounds {
		key := fmt.Sprintf("%0100d", i%keys)
		at := wire.TopicPartition{Topic: "in", Partition: partition.Of([]byte(key), int32(s.partitions))}
		s.input = append(s.input, given{at, wire.Record{Time: eventTime.UnixMilli(), Key: []byte(key), Value: []byte(value(i))}})
		f.want[key]++
	}
	s.check = func(out oracle.Records, _ *world) error { return oracle.Counts(out, f.want, serde.Int64.Decode) }
	w, err := newWorld(s, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.world, f.all = w, w.procs
	for _, p := range f.all {
		p.through = func(l wire.Log) wire.Log { return joinedLog{l, f.watches} }
	}
	w.procs = nil
	return f
}

// running are the tasks of a process.
func (p *process) running() (names []string) {
	if p.d != nil {
		for _, task := range p.d.Status().Tasks {
			names = append(names, task.Task)
		}
	}
	return names
}

// settle has those that are up work under load until tasks are evenly spread among them.
func (f *fleet) settle() {
	f.t.Helper()
	uneven := func(p *process) bool {
		n, up := len(p.running()), len(f.procs)
		return n < f.s.partitions/up || n > (f.s.partitions+up-1)/up
	}
	for range 10 {
		if err := f.send(); err != nil {
			f.t.Fatal(err)
		}
		if f.rest(f.t); !slices.ContainsFunc(f.procs, uneven) {
			return
		}
	}
	for _, p := range f.procs {
		f.t.Logf("%s runs %v", p.name, p.running())
	}
	f.t.Fatal("tasks are not evenly spread")
}

// start brings one up.
func (f *fleet) start(p *process) {
	f.t.Helper()
	f.changes++
	f.procs = append(slices.Clone(f.procs), p)
	f.advance(time.Second)
	f.settle()
}

// restart takes one down and brings it up again. What the others had stays with them, and is not restored.
func (f *fleet) restart(p *process) {
	f.t.Helper()
	type kept struct {
		p        *process
		task     string
		restored int64
	}
	restored := func(p *process, task string) int64 {
		return p.d.Counters()["weir_restored_records_total{task,"+task+"}"]
	}
	f.procs = slices.DeleteFunc(slices.Clone(f.procs), func(o *process) bool { return o == p })
	var stay []kept
	for _, o := range f.procs {
		for _, task := range o.running() {
			stay = append(stay, kept{o, task, restored(o, task)})
		}
	}
	f.changes++
	if err := p.stop(); err != nil {
		f.t.Fatal(err)
	}
	f.settle()
	for _, k := range stay {
		if !slices.Contains(k.p.running(), k.task) {
			f.t.Errorf("%s was taken from %s, which stayed", k.task, k.p.name)
		}
	}
	f.start(p)
	for _, k := range stay {
		if n := restored(k.p, k.task); slices.Contains(k.p.running(), k.task) && n != k.restored {
			f.t.Errorf("%s stayed with %s and was restored there again: %d records", k.task, k.p.name, n-k.restored)
		}
	}
}

// finish sends the rest, and has the oracle judge what came out and how the group fared.
func (f *fleet) finish() {
	f.t.Helper()
	if err := f.drive(false); err != nil {
		f.t.Fatal(err)
	}
	// A change is one round: tasks with state move later, when a member that has copied it asks. That is two: what is given up is taken in the second.
	if most := int32(min(2*f.changes+f.probes, f.changes+2*f.probes)); f.generation > most || f.generation < int32(f.changes) {
		f.t.Errorf("%d generations for %d changes and %d probes", f.generation, f.changes, f.probes)
	}
	f.t.Logf("%d generations, %d changes, %d probes", f.generation, f.changes, f.probes)
	f.stops(f.t)
	if err := errors.Join(f.judged(), errors.Join(f.why...)); err != nil {
		f.t.Error(err)
	}
}

// TestInstancesAreRestartedInTurn has four instances with 32 partitions and much state start a second apart, and then each restart under load.
// Their group takes no more rounds than it must, what did not move is not restored, and the output is exact.
func TestInstancesAreRestartedInTurn(t *testing.T) {
	f := newFleet(t, scenario{name: "fleet", build: count, partitions: 32, members: 4, disk: true, chunk: *stateKeys / 20, config: func(c *stream.Config) {
		standby(c)
		c.MoveLag = 10
	}}, *stateKeys, 3)
	for _, p := range f.all {
		f.start(p)
	}
	for _, p := range f.all {
		f.restart(p)
	}
	f.finish()
}

// TestRollingDeploy restarts members in turn with a version of the program that has an operator more, without state, while others still run
// the one before.
func TestRollingDeploy(t *testing.T) {
	version := func(more bool) func(*stream.Builder, *world) {
		return func(b *stream.Builder, _ *world) {
			s := source(b)
			if more {
				s = s.Filter(func(_, v string) bool { return v != "" }).MapValues(func(v string) string { return v + "!" })
			}
			s.GroupByKey().Count(stream.OnUpdate, stream.Named("counts")).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
		}
	}
	f := newFleet(t, scenario{name: "deploy", build: version(false), partitions: 6, members: 3, disk: true, chunk: 20, config: standby}, 100, 4)
	for _, p := range f.all {
		f.start(p)
	}
	f.s.build = version(true)
	for _, p := range f.all {
		f.restart(p)
	}
	f.finish()
}

// askingLog counts what is asked about topics.
type askingLog struct {
	wire.Log
	asked *int
}

func (l askingLog) Topics(ctx context.Context, names ...string) (map[string]wire.Topic, error) {
	*l.asked++
	return l.Log.Topics(ctx, names...)
}

// TestTasksThatComeAskNothing has a member leave: the one that takes its tasks knows their topics from those that it runs, and what it runs does not
// wait until the cluster has answered for each of them.
func TestTasksThatComeAskNothing(t *testing.T) {
	asked := 0
	f := newFleet(t, scenario{name: "asks", build: count, partitions: 12, members: 2, disk: true, chunk: 20, config: standby}, 100, 4)
	stays, leaves := f.all[0], f.all[1]
	stays.through = func(l wire.Log) wire.Log { return askingLog{joinedLog{l, f.watches}, &asked} }
	f.start(stays)
	f.start(leaves)
	before := asked
	f.procs = f.procs[:1]
	f.changes++
	if err := leaves.stop(); err != nil {
		t.Fatal(err)
	}
	f.settle()
	if n := len(stays.running()); n != 12 || before == 0 || asked != before {
		t.Errorf("%d tasks run; topics were asked about %d times before, and %d times for what came", n, before, asked-before)
	}
	f.finish()
}
