package crashtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// exchanges are both ways to the next task.
var exchanges = map[string]stream.Exchange{"local": stream.Local, "kafka": stream.Kafka}

// A clocked world counts what two partitions have in windows of ten seconds, behind an exchange: only there several partitions meet in one
// watermark.
type clocked struct {
	*world
	t *testing.T
}

const (
	idleAfter   = 30 * time.Second
	startLayout = "02 15:04:05"
)

func newClocked(t *testing.T, exchange stream.Exchange, opts ...stream.SourceOption) clocked {
	t.Helper()
	return newGraced(t, exchange, 0, opts...)
}

func newGraced(t *testing.T, exchange stream.Exchange, grace time.Duration, opts ...stream.SourceOption) clocked {
	t.Helper()
	opts = append([]stream.SourceOption{stream.IdleAfter(idleAfter)}, opts...)
	build := func(b *stream.Builder, _ *world) {
		b.Source(kafka.Source("in", serde.String, serde.String), opts...).
			GroupBy(func(_, v string) string { return "all" }).Window(window.Tumbling(10 * time.Second).Grace(grace)).Count(stream.Named("windows")).ToStream().
			Map(func(k window.Key[string], n int64) (string, int64) { return k.Span.Start().Format(startLayout), n }).
			To(kafka.Sink("out", serde.String, serde.Int64))
	}
	topic := given{at: wire.TopicPartition{Topic: "in"}} // newWorld makes the topics of what is to be sent
	w, err := newWorld(scenario{name: "clocked", build: build, partitions: 2, input: []given{topic},
		in:     map[string]string{"retention.ms": "-1", "message.timestamp.after.max.ms": fmt.Sprint(1 << 62)},
		config: func(c *stream.Config) { c.Exchange = exchange }}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return clocked{w, t}
}

// put writes records of times to a partition, in seconds of the beginning.
func (c clocked) put(partition int32, seconds ...int) {
	c.t.Helper()
	var all []wire.Record
	for _, s := range seconds {
		all = append(all, wire.Record{Time: eventTime.Add(time.Duration(s) * time.Second).UnixMilli(), Key: []byte("k"), Value: []byte("v")})
	}
	if _, err := c.c.Append("in", partition, all...); err != nil {
		c.t.Fatal(err)
	}
}

// pass lets time pass, a second at a time, with a checkpoint in each.
func (c clocked) pass(by time.Duration) {
	c.t.Helper()
	for range int(by / time.Second) {
		c.advance(time.Second)
		c.steps(c.t, 1)
	}
}

// results are the windows that have come out, by their beginning, and how many records were late.
func (c clocked) results() (out string, late int64) {
	c.t.Helper()
	counts := map[string]int64{}
	for _, r := range outputs(c.t, c.c) {
		n, err := serde.Int64.Decode(r.Value)
		if err != nil || counts[string(r.Key)] != 0 {
			c.t.Fatalf("window %s comes again, or is damaged: %v", r.Key, err)
		}
		counts[string(r.Key)] = n
	}
	var lines []string
	for _, start := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprint(start, "=", counts[start]))
	}
	for name, n := range c.procs[0].d.Counters() {
		if strings.HasPrefix(name, "weir_late_total") {
			late += n
		}
	}
	return strings.Join(lines, " "), late
}

// has fails unless exactly these windows have come out, and so many records were late.
func (c clocked) has(when, windows string, late int64) {
	c.t.Helper()
	if got, n := c.results(); got != windows || n != late {
		c.t.Fatalf("%s: windows %q, %d late; want %q, %d", when, got, n, windows, late)
	}
}

// A partition that has nothing new stops holding windows back when it was read to its end for IdleAfter, and not before.
func TestQuietPartitionDoesNotStallWindows(t *testing.T) {
	for name, exchange := range exchanges {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, exchange)
			c.put(1, 1)
			c.put(0, 2, 3, 25)
			c.pass(idleAfter - 2*time.Second)
			c.put(0, 26) // this one is not quiet
			c.has("before IdleAfter", "", 0)
			c.pass(6 * time.Second)
			c.has("behind it", "01 00:00:00=3", 0)
			c.put(1, 27)
			c.pass(3 * time.Second)
			c.put(0, 31)
			c.pass(3 * time.Second)
			c.has("it is back", "01 00:00:00=3", 0)
			c.put(1, 41)
			c.pass(3 * time.Second)
			c.has("and goes on", "01 00:00:00=3 01 00:00:20=3", 0)
		})
	}
}

// A partition whose position is not its end is never idle, however long nothing comes of it: here because somebody's transaction is open.
func TestSlowPartitionIsNotTakenForIdle(t *testing.T) {
	for name, exchange := range exchanges {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, exchange)
			c.put(1, 1)
			c.put(0, 2, 3)
			c.pass(2 * time.Second)
			abort := c.dam(1)
			c.put(1, 4, 12)
			c.put(0, 25)
			for range 9 {
				c.put(0, 26) // and there is always something of the other one
				c.pass(idleAfter / 2)
			}
			c.has("while it is slow", "", 0)
			abort()
			c.pass(2 * time.Second)
			c.has("its records have come", "01 00:00:00=4", 0)
			c.put(1, 41)
			c.pass(3 * time.Second)
			c.has("it goes on", "01 00:00:00=4 01 00:00:10=1", 0)
		})
	}
}

// dam opens a transaction of somebody else in a partition: what follows cannot be read until it is aborted.
func (c clocked) dam(partition int32) (abort func()) {
	c.t.Helper()
	l, end := c.connect(c.t), c.end(partition)
	id := fmt.Sprint("other-", end)
	tx, err := l.Transactions(c.t.Context(), wire.TxConfig{IDs: [2]string{id + "-0", id + "-1"}, Timeout: 15 * time.Minute})
	if err != nil {
		c.t.Fatal(err)
	}
	a, err := tx.Appender("other", 1)
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := a.To(c.t.Context(), "in")
	if err != nil {
		c.t.Fatal(err)
	}
	out.Append(partition, eventTime.UnixMilli(), []byte("k"), []byte("never seen"), nil)
	a.Cut(1)
	if _, err := tx.Flush(c.t.Context(), 1); err != nil {
		c.t.Fatal(err)
	}
	return func() {
		c.t.Helper()
		if err := errors.Join(l.Fence(c.t.Context(), id+"-1"), l.Close()); err != nil {
			c.t.Fatal(err)
		}
	}
}

// end is the end offset of a partition.
func (c clocked) end(partition int32) int64 {
	c.t.Helper()
	at := wire.TopicPartition{Topic: "in", Partition: partition}
	ends, err := c.connect(c.t).List(c.t.Context(), wire.End, []wire.TopicPartition{at})
	if err != nil {
		c.t.Fatal(err)
	}
	return ends[at]
}

// A record of 2099 closes nothing where MaxFuture has a bound, and everything where it has none.
func TestRecordOf2099(t *testing.T) {
	decades := int(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).Sub(eventTime) / time.Second)
	for name, exchange := range exchanges {
		for _, bound := range []time.Duration{time.Hour, -1} {
			t.Run(fmt.Sprint(name, ", MaxFuture ", bound), func(t *testing.T) {
				c := newClocked(t, exchange, stream.MaxFuture(bound), stream.OnError(stream.Skip))
				c.put(1, 1)
				c.put(0, 2)
				c.pass(2 * time.Second)
				c.put(0, decades)
				c.put(1, decades)
				c.pass(2 * time.Second)
				c.put(0, 3, 4)
				c.put(1, 15)
				c.pass(2 * time.Second)
				if bound < 0 {
					c.has("without a bound", "01 00:00:00=2", 3)
					return
				}
				c.has("before the end of the window", "", 0)
				c.put(0, 22)
				c.pass(2 * time.Second)
				c.has("behind it", "01 00:00:00=4", 0)
			})
		}
	}
}

// Old data is read anew: one partition is at its end at once, the other has hours to go and comes in portions, with crashes between. What is behind
// the exchange waits for it, and nothing of it is late.
func TestBackfillIsNotLate(t *testing.T) {
	for name, exchange := range exchanges {
		t.Run(name, func(t *testing.T) {
			const portions, apart = 24, 1000
			c := newClocked(t, exchange)
			var aborts []func()
			for i := range portions {
				aborts = append(aborts, c.dam(1))
				c.put(1, i*apart, i*apart+500)
			}
			want := map[string]int{}
			for i := range portions {
				c.put(0, i*apart+3, i*apart+503)
				for _, s := range []int{0, 500} {
					want[eventTime.Add(time.Duration(i*apart+s)*time.Second).Format(startLayout)] = 2
				}
			}
			c.put(0, portions*apart)
			c.pass(2 * idleAfter)
			c.has("before anything of the other has come", "", 0)
			for i, abort := range aborts {
				abort()
				switch {
				case i%5 == 2:
					c.crash()
					c.pass(2 * time.Second)
				case i%5 == 3:
					c.pass(2 * time.Second)
					c.crash()
				default:
					c.pass(2 * time.Second)
				}
			}
			c.put(1, portions*apart+100)
			c.put(0, portions*apart+100)
			c.pass(3 * time.Second)
			want[eventTime.Add(portions*apart*time.Second).Format(startLayout)] = 1
			var lines []string
			for _, start := range slices.Sorted(maps.Keys(want)) {
				lines = append(lines, fmt.Sprint(start, "=", want[start]))
			}
			c.has("in the end", strings.Join(lines, " "), 0)
		})
	}
}

// crash loses what is not committed.
func (c clocked) crash() {
	c.t.Helper()
	if err := c.procs[0].d.Crash(); err != nil {
		c.t.Fatal(err)
	}
}

// Records that are out of order within the grace of all that is behind an exchange are no reason to write watermarks into its topic: those
// go with checkpoints. Only records that may be late for somebody are told how far event time is.
func TestDisorderWithinGraceIsNotTold(t *testing.T) {
	const rounds, perRound = 10, 60
	marks := func(grace time.Duration) int {
		c := newGraced(t, stream.Kafka, grace)
		c.put(1, 1_000_000) // the other partition holds nobody back
		for round := range rounds {
			for i := range perRound {
				n := round*perRound + i
				c.put(0, n-n%2*20) // every other one is 20 s behind
			}
			c.pass(time.Second)
		}
		_, late := c.results()
		if (late > 0) != (grace == 0) {
			t.Fatalf("grace %v: %d are late", grace, late)
		}
		return c.marks()
	}
	const most = (rounds + 2) * 2 * 2 // per second from each of two tasks to each of two partitions
	if n := marks(30 * time.Second); n > most {
		t.Errorf("%d watermarks for %d records that are on time, want at most %d", n, rounds*perRound, most)
	}
	if n := marks(0); n < rounds*perRound/4 {
		t.Errorf("%d watermarks for %d records of which half are late", n, rounds*perRound)
	}
}

// marks counts the watermarks in repartition topics.
func (c clocked) marks() (n int) {
	c.t.Helper()
	for topic, partitions := range c.c.Topics() {
		if !strings.HasSuffix(topic, "-repartition") {
			continue
		}
		for p := range int32(partitions) {
			all, _, err := c.c.Records(topic, p, 0)
			if err != nil {
				c.t.Fatal(err)
			}
			for _, r := range all {
				if r.Value == nil {
					n++
				}
			}
		}
	}
	return n
}
