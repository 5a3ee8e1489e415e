package crashtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// counting is the scenario of most tests here: state on disk, a changelog, every sum in the output.
func counting() scenario { return scenario{name: "counting", build: count, check: sums, disk: true} }

// half is a world in which half of the records were sent and committed, and the process has stopped as it should.
func half(t *testing.T, s scenario) *world {
	t.Helper()
	w, err := newWorld(s, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range records / chunk / 2 {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.steps(t, 1)
	}
	w.stops(t)
	return w
}

// steps has the process work, and nothing may go wrong.
func (w *world) steps(t *testing.T, n int) {
	t.Helper()
	for range n {
		if !w.procs[0].step() {
			t.Fatal(errors.Join(w.why...))
		}
	}
}

func (w *world) stops(t *testing.T) {
	t.Helper()
	if !w.stop() {
		t.Fatal(errors.Join(w.why...))
	}
}

// finish is the other half, and the oracle's word. The process may not have to recover.
func (w *world) finish(t *testing.T) {
	t.Helper()
	if err := w.drive(false); err != nil {
		t.Fatal(err)
	}
	w.stops(t)
	if err := w.judged(); err != nil {
		t.Error(err)
	}
	if len(w.why) > 0 {
		t.Errorf("it had to recover: %v", errors.Join(w.why...))
	}
}

// refuses fails unless the process refuses to start, with this error and these words in it.
func (w *world) refuses(t *testing.T, want error, words ...string) {
	t.Helper()
	err := w.procs[0].start()
	if !errors.Is(err, want) {
		t.Fatalf("start: %v, want %v", err, want)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("start: %q says nothing of %q", err, word)
		}
	}
}

func (w *world) connect(t *testing.T) wire.Log {
	t.Helper()
	l, err := w.c.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// changelogs are the names of those of the app.
func (w *world) changelogs() (names []string) {
	for name := range w.c.Topics() {
		if strings.HasSuffix(name, "-changelog") {
			names = append(names, name)
		}
	}
	return names
}

// stranger has a transaction of another app in the changelogs: open, or with end aborted.
func stranger(t *testing.T, w *world, end bool) {
	t.Helper()
	openIn(t, w.c, w.changelogs()...)
	if !end {
		return
	}
	if err := w.connect(t).Fence(t.Context(), "other-1"); err != nil {
		t.Fatal(err)
	}
}

// openIn leaves a transaction of another app open in all partitions of some topics.
func openIn(t *testing.T, c *memory.Cluster, topics ...string) {
	t.Helper()
	l, err := c.Connect(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := l.Transactions(t.Context(), wire.TxConfig{IDs: [2]string{"other-0", "other-1"}, Timeout: 15 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	a, err := tx.Appender("task", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range topics {
		o, err := a.To(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for p := range o.Partitions() {
			o.Append(p, c.Now().UnixMilli(), []byte("k1"), []byte("nonsense"), nil)
		}
	}
	a.Cut(1)
	if _, err := tx.Flush(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}

// The changelog ends in a transaction's marker, which no record is: a restore must not wait for one.
func TestRestartAfterACleanStop(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world){
		"as it is":                      func(*world) {},
		"state deleted":                 func(w *world) { w.procs[0].disk.applied = nil },
		"tail compacted":                func(w *world) { w.c.Compact() },
		"tail compacted, state deleted": func(w *world) { w.c.Compact(); w.procs[0].disk.applied = nil },
		"aborted at the tail":           func(w *world) { stranger(t, w, true) },
		"aborted, state deleted":        func(w *world) { stranger(t, w, true); w.procs[0].disk.applied = nil },
		"foreign transaction open":      func(w *world) { stranger(t, w, false) },
		"open, state deleted":           func(w *world) { stranger(t, w, false); w.procs[0].disk.applied = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := half(t, counting())
			meanwhile(w)
			w.finish(t)
		})
	}
}

// What is filtered out moves positions and opens no transaction; after a restart nothing of it is read again.
func TestFilteredOutIsNotReadAgain(t *testing.T) {
	begun := 0
	w, err := newWorld(scenario{name: "filter", build: filter, check: nothing}, 0, faults.JudgeFunc(func(r faults.Request) faults.Fate {
		if r.Kind == faults.AddPartitions {
			begun++
		}
		return faults.Fate{}
	}))
	if err != nil {
		t.Fatal(err)
	}
	const many = 10_000
	var all []wire.Record
	for i := range many {
		all = append(all, wire.Record{Time: eventTime.UnixMilli(), Key: []byte(key(i)), Value: []byte(value(i))})
	}
	if _, err := w.c.Append("in", 0, all...); err != nil {
		t.Fatal(err)
	}
	w.steps(t, 1)
	if at := w.c.Committed("app")[wire.TopicPartition{Topic: "in"}].Offset; at != many {
		t.Errorf("the group is at %d, want %d", at, many)
	}
	w.procs[0].recover(faults.ErrKilled)
	w.why = nil
	w.steps(t, 1)
	for _, task := range w.procs[0].d.Status().Tasks {
		if task.Processed > 0 {
			t.Errorf("after the restart a task has processed %d records: %+v", task.Processed, task)
		}
	}
	if begun > 0 {
		t.Errorf("%d transactions were opened", begun)
	}
}

// An app that has nothing to do asks nothing of the cluster: checkpoints go on, and none of them is committed.
func TestIdleCommitsNothing(t *testing.T) {
	commits := 0
	w, err := newWorld(counting(), 0, faults.JudgeFunc(func(r faults.Request) faults.Fate {
		if r.Kind == faults.OffsetCommit || r.Kind == faults.EndTxn {
			commits++
		}
		return faults.Fate{}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.drive(false); err != nil {
		t.Fatal(err)
	}
	commits = 0
	w.steps(t, 10)
	if commits > 0 {
		t.Errorf("ten checkpoints without a record made %d commits", commits)
	}
	w.finish(t)
}

// A checkpoint may touch any number of partitions; how many requests it takes must not grow with their product.
func TestThousandPartitionsInOneCheckpoint(t *testing.T) {
	w, err := newWorld(counting(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	const many = 1000
	if err := errors.Join(w.c.Grow("in", many), w.c.Grow("out", many)); err != nil {
		t.Fatal(err)
	}
	for p := range int32(many) {
		if _, err := w.c.Append("in", p, wire.Record{Time: eventTime.UnixMilli(), Key: fmt.Append(nil, p), Value: []byte("v")}); err != nil {
			t.Fatal(err)
		}
	}
	w.steps(t, 1)
	w.stops(t)
	out, err := oracle.Read(t.Context(), w.connect(t), "out")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for p := range many {
		want[fmt.Sprint(p)] = 1
	}
	if err := oracle.Counts(out, want, serde.Int64.Decode); err != nil {
		t.Error(err)
	}
}

// An event two hours ahead of the broker's clock goes through repartition topics and changelogs, which the app makes itself.
func TestEventAheadOfTheBrokersClock(t *testing.T) {
	w, err := newWorld(scenario{name: "ahead", build: repartition, check: sums, config: overKafka}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	free := map[string]string{"message.timestamp.after.max.ms": "9223372036854775807"}
	if err := errors.Join(w.c.Configure("in", free), w.c.Configure("out", free)); err != nil {
		t.Fatal(err)
	}
	ahead := w.c.Now().Add(2 * time.Hour)
	if _, err := w.c.Append("in", 0, wire.Record{Time: ahead.UnixMilli(), Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	w.steps(t, 3)
	w.stops(t)
	out, err := oracle.Read(t.Context(), w.connect(t), "out")
	if err != nil {
		t.Fatal(err)
	}
	if err := oracle.Counts(out, map[string]int64{"k": 1}, serde.Int64.Decode); err != nil {
		t.Error(err)
	}
}

// Positions that have expired, seven days after the group was left, leave the tasks' own records: the app goes on from them.
func TestPositionsHaveExpired(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world){
		"state there":   func(w *world) { w.c.ForgetOffsets("app") },
		"state deleted": func(w *world) { w.c.ForgetOffsets("app"); w.procs[0].disk.applied = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := half(t, counting())
			meanwhile(w)
			w.finish(t)
		})
	}
}

// State at positions that somebody has changed says nothing of what is in it: counting on from there would be wrong without a word.
func TestPositionsAreReset(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world){
		"reset by an operator": func(w *world) {
			at := []wire.Position{{TopicPartition: wire.TopicPartition{Topic: "in"}}}
			if err := w.connect(t).CommitPlain(t.Context(), wire.Identity{Group: "app", Generation: -1}, at); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := half(t, counting())
			meanwhile(w)
			w.refuses(t, engine.ErrTopology, "changelog")
		})
	}
}

// Retention has deleted what was committed to be read next: nothing is skipped without a word.
func TestPositionIsLostToRetention(t *testing.T) {
	lose := func(t *testing.T, s scenario) *world {
		w := half(t, s)
		if err := w.send(); err != nil { // not read
			t.Fatal(err)
		}
		ends, err := w.connect(t).List(t.Context(), wire.End, []wire.TopicPartition{{Topic: "in"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.connect(t).DeleteRecords(t.Context(), ends); err != nil {
			t.Fatal(err)
		}
		return w
	}
	t.Run("fail", func(t *testing.T) {
		w := lose(t, counting())
		err := w.procs[0].start()
		if err == nil {
			err = w.procs[0].d.Checkpoint()
		}
		if !errors.Is(err, engine.ErrPositionLost) || !strings.Contains(err.Error(), "in") {
			t.Errorf("start: %v, want ErrPositionLost that names the topic", err)
		}
	})
	t.Run("earliest", func(t *testing.T) {
		s := counting()
		s.build = func(b *stream.Builder, _ *world) {
			b.Source(kafka.Source("in", serde.String, serde.String, kafka.OnPositionLost(kafka.GoOnEarliest))).
				GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
		}
		w := lose(t, s)
		w.steps(t, 2)
		if w.behind() {
			t.Error("it does not go on")
		}
	})
}

func TestUnsafeSettingsAreRefused(t *testing.T) {
	t.Run("changelog that forgets", func(t *testing.T) {
		w := half(t, counting())
		name := w.changelogs()[0]
		if err := w.c.Configure(name, map[string]string{"cleanup.policy": "delete"}); err != nil {
			t.Fatal(err)
		}
		w.refuses(t, engine.ErrTopic, name, "cleanup.policy")
	})
	t.Run("changelog made anew", func(t *testing.T) {
		w := half(t, counting())
		name := w.changelogs()[0]
		w.c.Delete(name)
		w.refuses(t, engine.ErrTopic, name)
	})
	t.Run("changelog made anew, state deleted", func(t *testing.T) {
		w := half(t, counting())
		name := w.changelogs()[0]
		w.c.Delete(name)
		w.procs[0].disk.applied = nil
		w.refuses(t, engine.ErrTopic, name, "made anew")
	})
	t.Run("transaction timeout", func(t *testing.T) {
		s := counting()
		s.config = func(c *stream.Config) { c.TransactionTimeout = time.Hour }
		w, err := newWorld(s, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.refuses(t, engine.ErrConfig, "TransactionTimeout", "15m")
	})
	t.Run("partitions of a changelog", func(t *testing.T) {
		w := half(t, counting())
		name := w.changelogs()[0]
		if err := w.c.Grow(name, partitions+1); err != nil {
			t.Fatal(err)
		}
		w.refuses(t, engine.ErrTopic, name, "partitions")
	})
}
