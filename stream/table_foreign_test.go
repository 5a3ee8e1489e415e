package stream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/partition"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// foreign is a foreign-key join that counts the calls of its joiner. "raw" has the types that changelogs are read with.
func foreign(left bool, calls *int) *stream.Builder {
	b := stream.New("foreign")
	rows := b.Table(kafka.Source("left", serde.String, serde.String))
	others := b.Table(kafka.Source("right", serde.String, serde.String))
	joined := func(a, b string, ok bool) string { *calls++; return pair(a, true, b, ok) }
	out := kafka.Sink("out", serde.String, serde.String)
	if left {
		rows.LeftJoinOn(others, foreignKey, joined, stream.Named("on")).To(out)
	} else {
		rows.JoinOn(others, foreignKey, func(a, b string) string { return joined(a, b, true) }, stream.Named("on")).To(out)
	}
	rows.Filter(func(string, string) bool { return false }).MapValues(func(string) []byte { return nil }).To(kafka.Sink("raw", serde.String, serde.Bytes))
	return b
}

// A row is subscribed to the row that its foreign key names, and to no other: one that it named before, or that a deleted row named, changes
// without anybody being asked or told.
func TestForeignKeySubscriptions(t *testing.T) {
	const gone = "<gone>"
	for _, exchange := range []stream.Exchange{stream.Local, stream.Kafka} {
		for _, partitions := range []int{1, 5} {
			for _, left := range []bool{false, true} {
				t.Run(fmt.Sprintf("exchange %v, %d partitions, left %t", exchange, partitions, left), func(t *testing.T) {
					calls := 0
					d := streamtest.New(t, foreign(left, &calls), streamtest.Partitions(partitions),
						streamtest.Config(func(c *stream.Config) { c.Exchange = exchange }))
					out, subscribed := d.Out[string, string]("out"), d.Out[string, []byte]("foreign-on-subscriptions-changelog")
					heard := d.Out[string, []byte]("foreign-on-versions-changelog")
					rows := map[string][]byte{}
					for i, step := range []struct {
						topic, key, value string // without a value it deletes
						inner, left       string // what comes out; nothing
						calls, leftCalls  int
						subscriptions     int
					}{
						{"right", "A", "a", "", "", 0, 0, 0},
						{"right", "B", "b", "", "", 0, 0, 0},
						{"left", "k", "A|1", "A|1+a", "A|1+a", 1, 1, 1},
						{"right", "A", "a2", "A|1+a2", "A|1+a2", 1, 1, 1},
						{"left", "k", "A|2", "A|2+a2", "A|2+a2", 1, 1, 1},
						{"left", "k", "B|2", "B|2+b", "B|2+b", 1, 1, 1},
						{"right", "A", "a3", "", "", 0, 0, 1},
						{"right", "A", "", "", "", 0, 0, 1},
						{"left", "k", "C|2", gone, "C|2+-", 0, 1, 1},
						{"right", "B", "b2", "", "", 0, 0, 1},
						{"left", "k", "B|3", "B|3+b2", "B|3+b2", 1, 1, 1},
						{"left", "k", "|4", gone, "|4+-", 0, 1, 0}, // names none
						{"right", "B", "b3", "", "", 0, 0, 0},
						{"left", "k", "B|5", "B|5+b3", "B|5+b3", 1, 1, 1}, // names one again
						{"right", "B", "", gone, "B|5+-", 0, 1, 1},
						{"right", "B", "b4", "B|5+b4", "B|5+b4", 1, 1, 1},
						{"left", "k", "", gone, gone, 0, 0, 0},
						{"right", "B", "b5", "", "", 0, 0, 0},
						{"left", "l", "|6", "", "|6+-", 0, 1, 0}, // the first that is heard of it
						{"left", "l", "A|6", "", "A|6+-", 0, 1, 1},
						{"right", "A", "a6", "A|6+a6", "A|6+a6", 1, 1, 1},
					} {
						calls = 0
						if in := d.In[string, string](step.topic); step.value == "" {
							in.Delete(step.key)
						} else {
							in.Send(step.key, step.value)
						}
						want, wantCalls, got := step.inner, step.calls, ""
						if left {
							want, wantCalls = step.left, step.leftCalls
						}
						for _, r := range out.Read() {
							if got += r.Value; r.Deleted {
								got += gone
							}
						}
						for _, r := range subscribed.Read() {
							if rows[r.Key] = r.Value; r.Deleted {
								delete(rows, r.Key)
							}
						}
						if got != want || calls != wantCalls || len(rows) != step.subscriptions {
							t.Errorf("step %d, %s of %s is %q: got %q with %d calls and %d subscriptions, want %q with %d and %d",
								i, step.key, step.topic, step.value, got, calls, len(rows), want, wantCalls, step.subscriptions)
						}
					}
					d.In[string, string]("left").Delete("l")
					d.Checkpoint()
					if kept := streamtest.Rows(heard); len(kept) > 0 {
						t.Errorf("all rows are gone, and %q is kept", kept)
					}
				})
			}
		}
	}
}

// The partition that keeps the old row hears late that nobody names it any more. What it says of that row meanwhile is of an older
// version, and dropped, whatever its time; once it has heard, it says nothing. A restart in between changes nothing.
func TestAnAnswerOfAnOlderVersionIsDropped(t *testing.T) {
	var deaf atomic.Bool
	c := &memory.Cluster{AutoCreate: 2, Judge: faults.JudgeFunc(func(r faults.Request) (f faults.Fate) {
		if deaf.Load() && r.Kind == faults.Fetch && r.Topic == "foreign-on-subscribe-repartition" && r.Partition == 0 {
			f.Refuse = errors.New("the leader has moved")
		}
		return f
	})}
	for _, topic := range []string{"left", "right", "out"} {
		if err := c.Create(topic, 2, nil); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().UnixMilli()
	put := func(topic, key, value string) {
		now++
		rec := wire.Record{Key: []byte(key), Time: now}
		if value != "" {
			rec.Value = []byte(value)
		}
		if _, err := c.Append(topic, partition.Of([]byte(key), 2), rec); err != nil {
			t.Fatal(err)
		}
	}
	counted, calls := &measured{values: map[string]float64{}}, 0
	stale := func() int { n, _ := counted.get("weir_stale_answers_total node on"); return int(n) }
	run := func() (stop func()) { // without the state of the run before
		app, err := foreign(false, &calls).Build(stream.Config{Cluster: c, State: state.InMemory(), Exchange: stream.Kafka, Metrics: counted,
			CheckpointInterval: 5 * time.Millisecond, Workers: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- app.Run(context.Background()) }()
		return func() {
			t.Helper()
			if err := errors.Join(app.Stop(context.Background(), stream.Handover), <-ended); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop := run()
	var want []string
	says := func(stales int, more ...string) { // what there is once there is as much
		t.Helper()
		want = append(want, more...)
		until(t, fmt.Sprintf("%q and %d stale answers", want, stales), func() bool { return len(committedValues(t, c, "out"))+stale() >= len(want)+stales })
		got := committedValues(t, c, "out")
		slices.Sort(got) // it has two partitions
		if slices.Sort(want); !slices.Equal(got, want) || stale() != stales {
			t.Fatalf("got %q and %d stale answers, want %q and %d", got, stale(), want, stales)
		}
	}
	names := keysOfPartitions(2)
	a, b := names[0], names[1]
	put("right", a, "a")
	put("right", b, "b")
	put("left", a, a+"|1")
	says(0, a+"|1+a")
	stop()
	stop = run()           // versions, subscriptions and rows come back from their changelogs
	put("left", b, a+"|0") // in another partition
	says(0, a+"|0+a")
	deaf.Store(true)
	put("left", a, b+"|1")
	says(0, b+"|1+b")
	put("right", a, "a2")
	says(1, a+"|0+a2")
	put("left", a, "") // what was heard remains when the row is gone
	says(1, "")
	put("right", a, "a2")
	says(2, a+"|0+a2")
	deaf.Store(false)
	put("left", "m", a+"|2") // behind what was not heard of
	says(2, a+"|2+a2")
	put("right", a, "a3")
	put("left", "n", a+"|3") // behind all that is said of a3
	says(2, a+"|0+a3", a+"|2+a3", a+"|3+a3")
	stop()
}

// keysOfPartitions has a key for each partition.
func keysOfPartitions(n int32) []string {
	keys := make([]string, n)
	for i := range 100 {
		key := fmt.Sprint("f", i)
		keys[partition.Of([]byte(key), n)] = key
	}
	return keys
}

// sized refuses texts of more than some bytes.
type sized struct {
	serde.Serde[string]
	most int
}

func (s sized) Append(dst []byte, v string) ([]byte, error) {
	if len(v) > s.most {
		return dst, errBad
	}
	return s.Serde.Append(dst, v)
}

// A result that cannot be sent is rejected, and is not there: the one before it is taken back. What it says of versions is not lost with it: nothing is
// kept when the row is gone.
func TestAnAnswerThatCannotBeEncoded(t *testing.T) {
	b := stream.New("foreign")
	rows, others := b.Table(kafka.Source("left", serde.String, serde.String)), b.Table(kafka.Source("right", serde.String, serde.String))
	rows.JoinOn(others, foreignKey, func(a, b string) string { return a + b }, stream.Named("on"), stream.OnError(stream.Skip)).
		ValueSerde(sized{serde.String, 8}).To(kafka.Sink("out", serde.String, serde.String))
	rows.Filter(func(string, string) bool { return false }).MapValues(func(string) []byte { return nil }).To(kafka.Sink("raw", serde.String, serde.Bytes))
	d := streamtest.New(t, b, streamtest.Partitions(3), streamtest.Config(func(c *stream.Config) { c.Exchange = stream.Kafka }))
	out, heard := d.Out[string, string]("out"), d.Out[string, []byte]("foreign-on-versions-changelog")
	left, right := d.In[string, string]("left"), d.In[string, string]("right")
	right.Send("A", "a")
	right.Send("B", "much too long")
	left.Send("k", "A|1")
	left.Send("l", "A|2")
	left.Send("l", "B|2")
	d.Checkpoint()
	left.Send("k", "B|1")
	d.Checkpoint()
	results := map[string]string{}
	for _, r := range out.Read() {
		if results[r.Key] += r.Value; r.Deleted {
			results[r.Key] += "<gone>"
		}
	}
	if results["k"] != "A|1a<gone>" || len(results["l"]) > 0 && results["l"] != "A|2a<gone>" {
		t.Errorf("got %q: what cannot be sent is to take back what was there", results)
	}
	left.Delete("k")
	left.Delete("l")
	d.Checkpoint()
	if kept := streamtest.Rows(heard); len(kept) > 0 {
		t.Errorf("all rows are gone, and %q is kept", kept)
	}
}
