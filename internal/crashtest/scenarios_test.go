package crashtest

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	change "github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// scenarios are the shapes of topologies that differ in what a checkpoint consists of.
func scenarios() []scenario {
	return []scenario{
		{name: "pass", build: pass, check: everything},
		{name: "filter", build: filter, check: nothing},
		{name: "sift", build: sift, check: sifted, late: 250, chunk: sieve},
		{name: "two-sift", build: sift, check: sifted, late: 250, chunk: sieve, members: 2, config: overKafka},
		{name: "count", build: count, check: sums},
		{name: "count-disk", build: count, check: sums, disk: true},
		{name: "nameless", build: count, check: sums, config: nameless},
		{name: "repartition-local", build: repartition, check: sums},
		{name: "repartition-kafka", build: repartition, check: sums, config: overKafka},
		{name: "repartition-kafka-disk", build: repartition, check: sums, config: overKafka, disk: true},
		{name: "windows-local", build: windows, check: closed},
		{name: "windows-kafka", build: windows, check: closed, config: overKafka},
		{name: "outside", build: outside, check: collected},
		{name: "two-count", build: count, check: sums, config: overKafka, members: 2},
		{name: "three-repartition", build: repartition, check: sums, config: overKafka, members: 3, disk: true},
		{name: "three-windows", build: windows, check: closed, config: overKafka, members: 3},
		{name: "three-standby", build: repartition, check: sums, config: standby, members: 3},
		{name: "three-standby-disk", build: repartition, check: sums, config: standby, members: 3, disk: true},
		{name: "two-standby-local", build: repartition, check: sums, config: localStandby, members: 2, disk: true},
		{name: "two-local", build: repartition, check: sums, members: 2},
		{name: "far-pass", build: farPass, check: everything, far: true},
		{name: "far-count", build: farCount, check: sums, far: true},
		{name: "far-count-disk", build: farCount, check: sums, far: true, disk: true, config: tight},
		{name: "two-far", build: farCount, check: sums, far: true, members: 2, config: overKafka},
		{name: "topic-changelog", build: table, check: steps, in: compacted},
		{name: "topic-changelog-disk", build: table, check: steps, in: compacted, disk: true},
		{name: "two-topic-changelog", build: table, check: steps, in: compacted, members: 2, disk: true},
		foreign("foreign-local", nil),
		foreign("foreign-kafka", overKafka),
		{name: "at-least-once", build: repartition, check: atLeast, config: atLeastOnce},
	}
}

func overKafka(c *stream.Config)   { c.Exchange = stream.Kafka }
func atLeastOnce(c *stream.Config) { c.Guarantee = stream.AtLeastOnce }

// standby has every task's state followed by another process, and tasks move only where hardly anything is missing.
func standby(c *stream.Config) {
	overKafka(c)
	localStandby(c)
}

func localStandby(c *stream.Config) { c.Standbys, c.MoveLag = 1, 3 }

// nameless processes have no name that they keep: the one before is a stranger, to be fenced.
func nameless(c *stream.Config) { c.Instance = "" }

// source reads in. The clock jumps in these tests, and what is late must not depend on it: no partition counts as idle.
func source(b *stream.Builder) *stream.Stream[string, string] {
	return b.Source(kafka.Source("in", serde.String, serde.String), stream.IdleAfter(24*time.Hour))
}

// elsewhere is the cluster that sinks name which are on the second one.
var elsewhere = &kafka.Cluster{Brokers: []string{"elsewhere:9092"}}

// tight leaves little room in outboxes.
func tight(c *stream.Config) { c.OutboxRecords = 3 }

func farPass(b *stream.Builder, _ *world) {
	source(b).MapValues(func(v string) string { return v }).To(kafka.Sink("out", serde.String, serde.String, kafka.On(elsewhere)))
}

func farCount(b *stream.Builder, _ *world) {
	source(b).GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64, kafka.On(elsewhere)))
}

// pass has no state: its checkpoints are outputs and positions.
func pass(b *stream.Builder, _ *world) {
	source(b).MapValues(func(v string) string { return v }).To(kafka.Sink("out", serde.String, serde.String))
}

func everything(out oracle.Records, _ *world) error { return oracle.Once(out, values()) }

// filter lets nothing through: positions move on without a transaction.
func filter(b *stream.Builder, _ *world) {
	source(b).Filter(func(string, string) bool { return false }).To(kafka.Sink("out", serde.String, serde.String))
}

func nothing(out oracle.Records, _ *world) error { return oracle.Once(out, nil) }

// sift lets every other chunk through: checkpoints that only move positions, plainly, and transactions take turns.
func sift(b *stream.Builder, _ *world) {
	through := map[string]bool{}
	for _, v := range throughSieve() {
		through[v] = true
	}
	source(b).Filter(func(_, v string) bool { return through[v] }).To(kafka.Sink("out", serde.String, serde.String))
}

func sifted(out oracle.Records, _ *world) error { return oracle.Once(out, throughSieve()) }

// sieve is how many records in a row it lets through, or not.
const sieve = 5

func throughSieve() (all []string) {
	for i := range records {
		if i/sieve%2 == 1 {
			all = append(all, value(i))
		}
	}
	return all
}

// count emits every sum of each key: state, changelog, outputs and positions are one transaction.
func count(b *stream.Builder, _ *world) {
	source(b).GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
}

func sums(out oracle.Records, _ *world) error {
	return oracle.Counts(out, counted(), serde.Int64.Decode)
}

// repartition counts behind an exchange.
func repartition(b *stream.Builder, _ *world) {
	source(b).
		Map(func(k, v string) (string, string) { return k, v }).
		GroupByKey().Count(stream.OnUpdate).ToStream().
		To(kafka.Sink("out", serde.String, serde.Int64))
}

// atLeast is what at-least-once promises of counts: outputs may repeat and even fall back, but none is missing, and with repeated
// repartition records the last one may be too great.
func atLeast(out oracle.Records, _ *world) error {
	last := map[string]int64{}
	for _, records := range out {
		for _, r := range records {
			n, err := serde.Int64.Decode(r.Value)
			if err != nil {
				return err
			}
			if key := string(r.Key); n > last[key]+1 {
				return fmt.Errorf("key %s has %d after %d", key, n, last[key])
			} else if n > last[key] {
				last[key] = n
			}
		}
	}
	for key, n := range counted() {
		if last[key] < n {
			return fmt.Errorf("key %s ends with %d, want %d at least", key, last[key], n)
		}
	}
	return nil
}

// compacted are the settings of a topic that is its table's changelog.
var compacted = map[string]string{"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000", "delete.retention.ms": "0"}

// table tells each change of a row with what it was before: it is restored from the topic that it is read from.
func table(b *stream.Builder, _ *world) {
	b.Table(kafka.Source("in", serde.String, serde.String), stream.TopicIsChangelog()).
		Changes().MapValues(func(c change.Change[string]) string { return c.Old + ">" + c.New }).
		To(kafka.Sink("out", serde.String, serde.String))
}

func steps(out oracle.Records, _ *world) error {
	var want []string
	for i := range records {
		before := ""
		if i >= keys {
			before = value(i - keys)
		}
		want = append(want, before+">"+value(i))
	}
	return oracle.Once(out, want)
}

// windowSize is that of tumbling windows.
const windowSize = 20 * time.Second

// windows emits the counts of closed windows: timers, watermarks and what is held back are part of the checkpoint.
func windows(b *stream.Builder, _ *world) {
	source(b).
		Map(func(k, v string) (string, string) { return k, v }).
		GroupByKey().Window(window.Tumbling(windowSize)).Count().ToStream().
		Map(func(k window.Key[string], n int64) (string, int64) {
			return fmt.Sprintf("%s@%d", k.Key, k.Span.Start().UnixMilli()), n
		}).
		To(kafka.Sink("out", serde.String, serde.Int64))
}

// closed checks that each window came once and with all that belongs to it. Which of the last ones have closed depends on
// what became idle.
func closed(out oracle.Records, _ *world) error {
	want, late := map[string]int64{}, map[string]bool{}
	for i := range records {
		at := eventTime.Add(time.Duration(i) * time.Second).Truncate(windowSize)
		name := fmt.Sprintf("%s@%d", key(i), at.UnixMilli())
		want[name]++
		late[name] = i > records-2*int(windowSize/time.Second)
	}
	var errs []error
	seen := map[string]bool{}
	for _, records := range out {
		for _, r := range records {
			n, err := serde.Int64.Decode(r.Value)
			name := string(r.Key)
			if err != nil || n != want[name] || seen[name] {
				errs = append(errs, fmt.Errorf("window %s has %d (%v), seen before: %v, want %d once", name, n, err, seen[name], want[name]))
			}
			seen[name] = true
		}
	}
	for name := range want {
		if !seen[name] && !late[name] {
			errs = append(errs, fmt.Errorf("window %s is missing", name))
		}
	}
	return errors.Join(errs...)
}

// outside writes to a sink that is not on the cluster: in two phases, its handles in the transaction.
func outside(b *stream.Builder, w *world) {
	source(b).GroupByKey().Count(stream.OnUpdate).ToStream().To(w.sink)
}

func collected(_ oracle.Records, w *world) error {
	all := oracle.Records{}
	for _, r := range w.sink.Records() {
		v, err := serde.Int64.Append(nil, r.Value)
		if err != nil {
			return err
		}
		all[0] = append(all[0], wire.Record{Key: []byte(r.Key), Value: v})
	}
	if n := w.sink.Prepared(); n > 0 {
		return fmt.Errorf("%d handles are neither committed nor dropped", n)
	}
	return oracle.Counts(all, counted(), serde.Int64.Decode)
}
