package crashtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	change "github.com/weirstream/weir/table"
)

// A disk that comes back after its changelog has forgotten tombstones would bring deleted rows back: windows that were closed and
// emitted would be emitted again. It is rebuilt instead.
func TestDeletedRowsStayDeleted(t *testing.T) {
	s := scenario{name: "stale", build: windows, check: closed, disk: true}
	w, err := newWorld(s, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.c.Advance(2 * time.Second)
		w.steps(t, 1)
	}
	old := len(w.procs[0].disk.applied) // windows are open now
	for range 3 {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.c.Advance(2 * time.Second)
		w.steps(t, 1)
	}
	w.stops(t)
	w.procs[0].disk.applied = w.procs[0].disk.applied[:old]
	for range 3 { // tombstones stay for a day after the first compaction that meets them
		w.c.Advance(25 * time.Hour)
		w.c.Compact()
	}
	w.finish(t)
}

// A version of the program that has one more store finds the state of the others, whatever their order is.
func TestStoresMayBeAdded(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world){
		"as it is":      func(*world) {},
		"state deleted": func(w *world) { w.procs[0].disk.applied = nil },
	} {
		t.Run(name, func(t *testing.T) {
			sink := kafka.Sink("out", serde.String, serde.Int64)
			s := scenario{name: "stores", check: sums, disk: true, build: func(b *stream.Builder, _ *world) {
				source(b).GroupByKey().Count(stream.OnUpdate, stream.Named("m")).ToStream().To(sink)
			}}
			w := half(t, s)
			meanwhile(w)
			w.s.build = func(b *stream.Builder, _ *world) {
				in := source(b)
				drop := func(string, int64) bool { return false }
				in.GroupByKey().Count(stream.Named("a")).ToStream().Filter(drop).To(kafka.Sink("other", serde.String, serde.Int64))
				in.GroupByKey().Count(stream.OnUpdate, stream.Named("m")).ToStream().To(sink)
			}
			if err := errors.Join(w.c.Create("other", partitions, nil)); err != nil {
				t.Fatal(err)
			}
			w.finish(t)
		})
	}
}

// A version of the program that renames a store would begin with an empty one. It is refused with both names, until the old state is given up
// by name; from then on nobody asks any more.
func TestStoreIsRenamed(t *testing.T) {
	named := func(name string) func(*stream.Builder, *world) {
		return func(b *stream.Builder, _ *world) {
			source(b).GroupByKey().Count(stream.OnUpdate, stream.Named(name)).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
		}
	}
	whatever := func(oracle.Records, *world) error { return nil }
	for name, meanwhile := range map[string]func(w *world){
		"as it is":      func(*world) {},
		"state deleted": func(w *world) { w.procs[0].disk.applied = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := half(t, scenario{name: "renamed", check: whatever, disk: true, build: named("visits")})
			meanwhile(w)
			w.s.build = named("hits")
			w.refuses(t, engine.ErrTopology, "visits", "hits", "DropState")
			w.s.config = func(c *stream.Config) { c.DropState = []string{"visits"} }
			if err := w.send(); err != nil {
				t.Fatal(err)
			}
			w.steps(t, 1)
			w.stops(t)
			w.s.config = nil // given up once
			w.steps(t, 1)
			w.stops(t)
		})
	}
}

// A process that was suspended after it had read the group's positions goes on with old ones: somebody else, or its own last request, has moved
// them on. State and positions do not fit together then, and it looks again before it blames them.
func TestOldPositionsAreReadAgain(t *testing.T) {
	for moved, want := range map[bool]bool{true: true, false: false} {
		w, err := newWorld(counting(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		var old map[wire.TopicPartition]wire.Committed
		for range 3 {
			if err := w.send(); err != nil {
				t.Fatal(err)
			}
			w.steps(t, 1)
			if old == nil {
				old = w.c.Committed("app")
			}
		}
		w.stops(t)
		p := w.procs[0]
		answers := &oldAnswers{old: old, times: 1}
		if !moved {
			answers.times = -1
		}
		p.through = func(l wire.Log) wire.Log { answers.Log = l; return answers }
		err = p.start()
		if !errors.Is(err, engine.ErrTopology) || engine.Recoverable(err) != want {
			t.Fatalf("positions moved on %v: start: %v, to be recovered from: %v", moved, err, engine.Recoverable(err))
		}
		if moved {
			w.finish(t)
		}
	}
}

// oldAnswers is a connection that gives old positions some times; -1 is always.
type oldAnswers struct {
	wire.Log
	old   map[wire.TopicPartition]wire.Committed
	times int
}

func (o *oldAnswers) Committed(ctx context.Context, group string, of []wire.TopicPartition) (map[wire.TopicPartition]wire.Committed, error) {
	found, err := o.Log.Committed(ctx, group, of)
	if o.times == 0 {
		return found, err
	}
	o.times--
	for tp := range found {
		found[tp] = o.old[tp]
	}
	return found, err
}

// A version of the program that takes a table's topic for its changelog, where there was one of its own before, has the same store: nothing was
// renamed, and nobody has to give anything up.
func TestTopicBecomesTheChangelog(t *testing.T) {
	own := func(b *stream.Builder, _ *world) {
		b.Table(kafka.Source("in", serde.String, serde.String)).
			Changes().MapValues(func(c change.Change[string]) string { return c.Old + ">" + c.New }).
			To(kafka.Sink("out", serde.String, serde.String))
	}
	w := half(t, scenario{name: "own", build: own, check: steps, disk: true, in: compacted})
	w.s.build = table
	w.finish(t)
}
