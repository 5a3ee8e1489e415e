package crashtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

var topologies = flag.Int("topologies", 100, "how many random topologies TestSameHoweverItRuns draws; each is run in several ways")

// A manner is one way of running a topology. What is committed in the end must not depend on it.
type manner struct {
	partitions int // of the input
	ways       int // of what asks for a number of its own
	exchange   stream.Exchange
	members    int
	memory     int64 // 0 is the default
	chunk      int   // of the input, between two steps
	lazy       int   // of so many steps one is a checkpoint
	disk       bool
	standbys   int
	faults     bool // requests are lost, late and repeated, and processes killed
}

func (m manner) String() string {
	type bare manner
	return fmt.Sprintf("%+v", bare(m))
}

// plainly is the simplest there is: what the others are compared with.
var plainly = manner{partitions: 1, ways: 1, exchange: stream.Local, members: 1, chunk: 10, lazy: 1}

// manners of a seed: each differs from plainly in everything that was drawn.
func manners(seed uint64) (all []manner) {
	r := rand.New(rand.NewPCG(seed, 12))
	for i := range 4 {
		m := manner{
			partitions: 1 + r.IntN(4), ways: 1 + r.IntN(4), exchange: stream.Kafka, members: 1 + i%3, chunk: 1 + r.IntN(40), lazy: 1 + r.IntN(4),
			disk: r.IntN(2) == 0, faults: r.IntN(2) == 0,
		}
		if i == 0 {
			m.exchange = stream.Local
		}
		if r.IntN(2) == 0 {
			m.memory = 4 << 10
		}
		if m.members > 1 {
			m.standbys = r.IntN(2)
		}
		all = append(all, m)
	}
	return all
}

// events are the input of a seed: a few keys in each of the topics, a little out of order in those that allow for it.
func events(seed uint64, partitions int) (all []given) {
	r := rand.New(rand.NewPCG(seed, 13))
	at := func(topic string, p int32, key string, v int64, ms int64) {
		value, _ := serde.Int64.Append(nil, v) // never fails
		all = append(all, given{wire.TopicPartition{Topic: topic, Partition: p}, wire.Record{Time: ms, Key: []byte(key), Value: value}})
	}
	now := eventTime.UnixMilli()
	topics := []string{"left", "left", "right", "right", "rows", "prices"}
	for i := range 150 {
		now += r.Int64N(1500)
		topic, key, late := topics[r.IntN(len(topics))], fmt.Sprint("k", r.IntN(6)), int64(0)
		if topic == "left" || topic == "right" {
			late = r.Int64N(disorder.Milliseconds())
		}
		at(topic, partition.Of([]byte(key), int32(partitions)), key, int64(i), now-late)
	}
	for day := range int64(2) {
		for _, topic := range []string{"left", "right", "rows", "prices"} {
			for p := range int32(partitions) {
				at(topic, p, lastMark, 0, now+(day+1)*24*time.Hour.Milliseconds())
			}
		}
	}
	return all
}

// committed runs the topology of a seed and returns what is committed in the end: rows of tables, and records of streams in no order.
func committed(seed uint64, m manner, j faults.Judge) (found []string, err error) {
	var d *drawn
	if d = draw(stream.New("app"), seed, m.ways); d == nil {
		return nil, nil
	}
	outputs := d.finish()
	s := scenario{
		name: "drawn", input: events(seed, m.partitions), outputs: outputs, partitions: m.partitions, members: m.members, disk: m.disk,
		chunk: m.chunk, lazy: m.lazy, settling: 20,
		build: func(b *stream.Builder, _ *world) { draw(b, seed, m.ways).finish() },
		config: func(c *stream.Config) {
			c.Exchange, c.MemoryBytes, c.Standbys, c.MoveLag = m.exchange, m.memory, m.standbys, 5
		},
	}
	s.check = func(_ oracle.Records, w *world) error {
		l, err := w.c.Connect(context.Background(), "oracle")
		if err != nil {
			return err
		}
		defer l.Close()
		for _, topic := range outputs {
			lines, err := resultOf(l, topic)
			if err != nil {
				return err
			}
			found = append(found, lines...)
		}
		return nil
	}
	return found, run(s, seed, j)
}

// resultOf is what a topic amounts to.
func resultOf(l wire.Log, topic string) (lines []string, err error) {
	all, err := oracle.Read(context.Background(), l, topic)
	if err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		for _, r := range all[p] {
			if topic[0] == 't' && r.Value == nil {
				delete(rows, string(r.Key))
				continue
			}
			v, err := serde.Int64.Decode(r.Value)
			if err != nil {
				return nil, err
			}
			if topic[0] == 't' {
				rows[string(r.Key)] = fmt.Sprintf("%s: %s = %d", topic, r.Key, v)
				continue
			}
			lines = append(lines, fmt.Sprintf("%s: %s = %d at %d", topic, r.Key, v, r.Time-eventTime.UnixMilli()))
		}
	}
	lines = append(lines, slices.Collect(maps.Values(rows))...)
	slices.Sort(lines)
	return lines, nil
}

// differ tells what only one of two results has.
func differ(got, want []string) error {
	n := map[string]int{}
	for _, line := range want {
		n[line]--
	}
	for _, line := range got {
		n[line]++
	}
	var errs []error
	for _, line := range slices.Sorted(maps.Keys(n)) {
		if n[line] != 0 {
			errs = append(errs, fmt.Errorf("%+d %s", n[line], line))
		}
	}
	return errors.Join(errs[:min(20, len(errs))]...)
}

// TestSameHoweverItRuns draws topologies with repartitions, aggregates, windows and joins, and runs each with other partitions, caches, places
// of checkpoints, exchanges and numbers of members, with faults and without: what is committed in the end is always the same.
func TestSameHoweverItRuns(t *testing.T) {
	lines, steps := 0, map[string]int{}
	for seed := *first; seed < *first+uint64(*topologies); seed++ {
		d := draw(stream.New("app"), seed, 1)
		for _, s := range d.steps {
			steps[s[:1]]++
		}
		want, err := committed(seed, plainly, nil)
		if err != nil {
			t.Fatalf("seed %d, %v: %v\n%v", seed, plainly, err, d)
		}
		lines += len(want)
		for i, m := range manners(seed) {
			var j faults.Judge
			random := faults.NewRandom(plan(scenario{name: fmt.Sprint("drawn-", i)}, seed))
			if m.faults {
				j = random
			}
			got, err := committed(seed, m, j)
			if err = errors.Join(err, differ(got, want)); err == nil {
				continue
			}
			script := faults.Shrink(random.Script(), func(shorter faults.Script) bool {
				got, err := committed(seed, m, shorter.Judge())
				return errors.Join(err, differ(got, want)) != nil
			})
			t.Fatalf("seed %d, %v: %v\n%v\nagain: go test ./internal/crashtest -run TestSameHoweverItRuns -topologies 1 -seed %d\nfaults:\n%s", seed, m, err, d, seed, script)
		}
	}
	t.Logf("%d topologies, %d results, %v", *topologies, lines, steps)
}
