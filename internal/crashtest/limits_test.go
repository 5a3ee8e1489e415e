package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// heard calls f for each warning, with its error.
type heard func(text string)

func (heard) Enabled(context.Context, slog.Level) bool { return true }
func (h heard) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h heard) WithGroup(string) slog.Handler          { return h }
func (h heard) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	h(text)
	return nil
}

// inAndOut makes the topics in and out, of n partitions.
func inAndOut(t *testing.T, c *memory.Cluster, n int) {
	t.Helper()
	for _, topic := range []string{"in", "out"} {
		if err := c.Create(topic, n, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// outputs are the committed records of topic out.
func outputs(t *testing.T, c *memory.Cluster) (all []wire.Record) {
	t.Helper()
	for p := range int32(c.Topics()["out"]) {
		records, _, err := c.Records("out", p, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, records...)
	}
	return all
}

// runs builds and runs an app.
func runs(t *testing.T, c *memory.Cluster, build func(*stream.Builder), change func(*stream.Config)) (*stream.App, chan error) {
	t.Helper()
	b := stream.New("app")
	build(b)
	config := stream.Config{Cluster: c, State: state.InMemory(), Instance: "i", CheckpointInterval: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	change(&config)
	app, err := b.Build(config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Run(context.WithoutCancel(t.Context())) }()
	return app, ended
}

// A function that does not return holds a checkpoint up, and with it everybody who reads what the transaction wrote: the task is named, and the app
// begins anew from the last commit.
func TestTaskThatHoldsUpIsNamed(t *testing.T) {
	c := &memory.Cluster{}
	inAndOut(t, c, 1)
	held, told := make(chan struct{}), make(chan string, 1)
	var once sync.Once
	app, ended := runs(t, c, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).
			MapValues(func(v string) string { <-held; return v }).
			To(kafka.Sink("out", serde.String, serde.String))
	}, func(config *stream.Config) {
		config.MaxTaskPause = 50 * time.Millisecond
		config.Logger = slog.New(heard(func(text string) {
			if strings.Contains(text, "MaxTaskPause") {
				once.Do(func() { told <- text; close(held) })
			}
		}))
	})
	appendTo(t, c, 0)
	if text := <-told; !strings.Contains(text, "task in/0") {
		t.Errorf("the task is not named: %s", text)
	}
	until(t, "the record is committed, once", func() bool { return c.Committed("app")[wire.TopicPartition{Topic: "in"}].Offset == 1 })
	if err := app.Stop(t.Context(), stream.Handover); err != nil {
		t.Fatal(err)
	}
	<-ended
	if found, _, err := c.Records("out", 0, 0); err != nil || len(found) != 1 {
		t.Errorf("%d records came out, %v", len(found), err)
	}
}

// What fails the same way at each attempt is an error in the end, not a loop.
func TestGivesUpInTheEnd(t *testing.T) {
	t.Parallel() // it waits longer from attempt to attempt
	c := &memory.Cluster{}
	inAndOut(t, c, 1)
	down := errors.New("down")
	_, ended := runs(t, c, func(b *stream.Builder) {
		in := b.Source(kafka.Source("in", serde.String, serde.String))
		in.To(kafka.Sink("out", serde.String, serde.String)) // an effect, which must not be had twice
		in.MapValues(func(v string) string { stream.Reject(stream.Transient(down)); return v }).To(kafka.Sink("out", serde.String, serde.String), stream.Named("failing"))
	}, func(*stream.Config) {})
	appendTo(t, c, 0)
	if err := <-ended; !errors.Is(err, down) || !strings.Contains(err.Error(), "gave up after 10 attempts") {
		t.Errorf("Run: %v", err)
	}
	if found, _, err := c.Records("out", 0, 0); err != nil || len(found) != 0 {
		t.Errorf("%d records came out, %v", len(found), err)
	}
}

// A cluster that cannot be reached while an app recovers is waited for, for longer than it would try anything else; at the first start it is an error.
func TestClusterIsGoneInARecovery(t *testing.T) {
	t.Parallel() // it waits longer from attempt to attempt
	var gone atomic.Bool
	var refused atomic.Int64
	c := &memory.Cluster{}
	c.Judge = faults.JudgeFunc(func(r faults.Request) (f faults.Fate) {
		if !gone.Load() {
			return f
		}
		switch r.Kind {
		case faults.EndTxn:
			f.Refuse = errors.New("the recovery begins with this")
		case faults.Metadata, faults.OffsetFetch, faults.ListOffsets, faults.InitProducer:
			f.Refuse = fmt.Errorf("dial: %w", wire.ErrUnreachable)
			if refused.Add(1) > 12 {
				gone.Store(false)
			}
		}
		return f
	})
	inAndOut(t, c, 1)
	app, ended := runs(t, c, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
	}, func(*stream.Config) {})
	appendTo(t, c, 0)
	until(t, "the first result", func() bool { return len(outputs(t, c)) == 1 })
	gone.Store(true)
	appendTo(t, c, 0)
	until(t, "the second result", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("Run: %v, after %d refused requests", err, refused.Load())
		default:
		}
		return len(outputs(t, c)) == 2
	})
	if err := errors.Join(app.Stop(t.Context(), stream.Handover), <-ended); err != nil {
		t.Error(err)
	}
}

// A value that cannot be encoded is no record's fault: whatever the policy is, the app ends, and says which store and key.
func TestValueThatCannotBeEncoded(t *testing.T) {
	c := &memory.Cluster{}
	inAndOut(t, c, 1)
	three := serde.New("three/1", func(dst []byte, n int64) ([]byte, error) {
		if n == 3 {
			return dst, errors.New("three is too many")
		}
		return serde.Int64.Append(dst, n)
	}, serde.Int64.Decode)
	_, ended := runs(t, c, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().
			Aggregate(func() int64 { return 0 }, func(_, _ string, n int64) int64 { return n + 1 }, stream.Named("sums"), stream.OnUpdate).ValueSerde(three).
			ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
	}, func(config *stream.Config) { config.OnError = stream.Skip })
	for range 3 {
		appendTo(t, c, 0)
	}
	err := <-ended
	for _, word := range []string{`store "sums"`, `key "k"`, "three is too many"} {
		if !strings.Contains(fmt.Sprint(err), word) {
			t.Errorf("Run: %v says nothing of %s", err, word)
		}
	}
	if open := c.OpenTransactions("app"); len(open) > 0 {
		t.Errorf("transactions are open: %v", open)
	}
}

// State that only a checkpoint can move out of memory has one taken before its time.
func TestCheckpointWhenMemoryIsFull(t *testing.T) {
	c := &memory.Cluster{}
	inAndOut(t, c, 1)
	app, ended := runs(t, c, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
	}, func(config *stream.Config) {
		config.CheckpointInterval, config.TransactionTimeout, config.MaxTaskPause = 5*time.Minute, 14*time.Minute, time.Minute
		config.MemoryBytes = 8 << 20
	})
	const many = 100_000
	var all []wire.Record
	for i := range many {
		all = append(all, wire.Record{Time: time.Now().UnixMilli(), Key: fmt.Append(nil, "key ", i), Value: []byte("v")})
	}
	if _, err := c.Append("in", 0, all...); err != nil {
		t.Fatal(err)
	}
	until(t, "a checkpoint", func() bool { return app.Status().Checkpoint > 0 })
	if err := app.Stop(t.Context(), stream.Handover); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// Repartition topics have no retention of their own. What is committed as read is deleted now and then, and nothing else.
func TestRepartitionTopicsArePurged(t *testing.T) {
	w := half(t, scenario{name: "exchange", build: repartition, check: sums, config: overKafka})
	l := w.connect(t)
	var of []wire.TopicPartition
	for tp := range w.c.Committed("app") {
		if strings.HasSuffix(tp.Topic, "-repartition") {
			of = append(of, tp)
		}
	}
	starts := func() map[wire.TopicPartition]int64 {
		found, err := l.List(t.Context(), wire.Start, of)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	before := starts()
	for range 2 {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.advance(40 * time.Second)
		w.steps(t, 2)
	}
	committed, moved := w.c.Committed("app"), false
	for tp, at := range starts() {
		moved = moved || at > before[tp]
		if at > committed[tp].Offset {
			t.Errorf("%v begins at %d, and is committed to %d", tp, at, committed[tp].Offset)
		}
	}
	if !moved {
		t.Error("nothing was deleted")
	}
	w.finish(t)
}
