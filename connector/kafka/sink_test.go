package kafka

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
)

func open[K, V any](r *rig, s *TopicSink[K, V]) connector.Writer[K, V] {
	r.Helper()
	w, err := s.Open(r.ctx, r.env(), connector.Task{Name: "t"})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { w.Close() })
	return w
}

type rec = connector.Record[string, string]

func TestSinkWritesWhereJavaWould(t *testing.T) {
	r := newRig(t)
	topic := r.topic(5)
	w := open(r, Sink(topic, serde.String, serde.String))
	at := time.Now().Truncate(time.Millisecond)
	for i := range 100 {
		if err := w.Write(&rec{Key: fmt.Sprint(i), Value: "v", Time: at, Headers: connector.Headers{{Key: "h", Value: []byte("1")}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(r.ctx); err != nil {
		t.Fatal(err)
	}
	java := kgo.StickyKeyPartitioner(nil).ForTopic(topic)
	n := 0
	for p := range int32(5) {
		for _, got := range r.consume(topic, p, int(r.end(topic, p))) {
			if want := java.Partition(got, 5); want != int(p) {
				t.Errorf("key %s is in partition %d, want %d", got.Key, p, want)
			}
			if !got.Timestamp.Equal(at) || len(got.Headers) != 1 || string(got.Headers[0].Value) != "1" {
				t.Errorf("%v", got)
			}
			n++
		}
	}
	if n != 100 {
		t.Errorf("%d records", n)
	}
}

func TestSinkNulls(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	w := open(r, Sink(topic, serde.String, serde.Optional(serde.String)))
	empty := ""
	now := time.Now()
	for _, x := range []connector.Record[string, *string]{
		{Key: "deleted", Deleted: true, Value: &empty, Time: now}, {Key: "nil", Time: now}, {Key: "empty", Value: &empty, Time: now}, {NoKey: true, Value: &empty, Time: now},
	} {
		if err := w.Write(&x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(r.ctx); err != nil {
		t.Fatal(err)
	}
	unit := open(r, Sink(topic, serde.Unit, serde.String))
	if err := unit.Write(&connector.Record[struct{}, string]{Value: "x", Time: now}); err != nil {
		t.Fatal(err)
	}
	if err := unit.Flush(r.ctx); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ nullKey, nullValue bool }{{false, true}, {false, true}, {false, false}, {true, false}, {true, false}} {
		got := r.consume(topic, 0, 5)[i]
		if (got.Key == nil) != want.nullKey || (got.Value == nil) != want.nullValue {
			t.Errorf("record %d: %v", i, got)
		}
	}
}

func TestSinkWithoutKeysUsesEveryPartition(t *testing.T) {
	r := newRig(t)
	topic := r.topic(3)
	w := open(r, Sink(topic, serde.Unit, serde.Bytes))
	for range 60 {
		if err := w.Write(&connector.Record[struct{}, []byte]{Value: make([]byte, 4000), Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(r.ctx); err != nil {
		t.Fatal(err)
	}
	for p := range int32(3) {
		if n := r.end(topic, p); n < 10 {
			t.Errorf("partition %d got %d of 60", p, n)
		}
	}
}

func TestSinkRoutesAndCreates(t *testing.T) {
	r := newRig(t)
	prefix := r.topic(1)
	s := Sink(prefix+"-other", serde.String, serde.String, Create(2, 0)).
		Route(func(x *rec) string {
			if x.Value == "" {
				return ""
			}
			return prefix + "-" + x.Value
		}).
		Partition(func(x *rec, n int) int { return n - 1 })
	w := open(r, s)
	for _, v := range []string{"a", "b", "", "a"} {
		if err := w.Write(&rec{Key: "k", Value: v, Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(r.ctx); err != nil {
		t.Fatal(err)
	}
	if a, b := r.end(prefix+"-a", 1), r.end(prefix+"-b", 1); a != 2 || b != 1 {
		t.Errorf("a has %d, b has %d", a, b)
	}
	if n := w.(interface{ Dropped() int64 }).Dropped(); n != 1 {
		t.Errorf("%d dropped", n)
	}
}

func TestSinkRouteToAMissingTopicIsADataError(t *testing.T) {
	r := newRig(t)
	w := open(r, Sink("x", serde.String, serde.String).Route(func(*rec) string { return "no-such-topic" }))
	for range 2 {
		if err := w.Write(&rec{Time: time.Now()}); !errors.Is(err, wire.ErrNoTopic) || !strings.Contains(err.Error(), "no-such-topic") {
			t.Error(err)
		}
	}
}

func TestSinkMissingTopic(t *testing.T) {
	r := newRig(t)
	_, err := Sink("no-such-topic", serde.String, serde.String).Open(r.ctx, r.env(), connector.Task{})
	if !errors.Is(err, wire.ErrNoTopic) || !strings.Contains(err.Error(), "kafka.Create") {
		t.Error(err)
	}
}

func TestSinkDataErrors(t *testing.T) {
	r := newRig(t)
	topic := r.topic(2, "max.message.bytes", "2000", "message.timestamp.after.max.ms", "3600000", "message.timestamp.before.max.ms", "3600000")
	w := open(r, Sink(topic, serde.String, serde.String).Partition(func(x *rec, n int) int { return len(x.Key) }))
	now := time.Now()
	for name, c := range map[string]struct {
		rec
		want string
	}{
		"size":      {rec{Value: strings.Repeat("x", 1990), Time: now}, "bytes"},
		"headers":   {rec{Headers: connector.Headers{{Key: "h", Value: make([]byte, 1990)}}, Time: now}, "bytes"},
		"future":    {rec{Time: now.Add(2 * time.Hour)}, "after.max.ms"},
		"past":      {rec{Time: now.Add(-2 * time.Hour)}, "before.max.ms"},
		"1969":      {rec{Time: time.UnixMilli(-5)}, "1970"},
		"partition": {rec{Key: "xx", Time: now}, "Partition"},
	} {
		if err := w.Write(&c.rec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Write(&rec{Key: "x", Value: "fine", Time: now}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(r.ctx); err != nil || r.end(topic, 1) != 1 {
		t.Error(err, r.end(topic, 1))
	}
}

// Inside the commit log a sink appends for its task and leaves flushing to the engine.
func TestSinkInsideTheCommitLog(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	w := r.writer(wire.WriterConfig{})
	env := r.env()
	env.Appender = r.appender(w, "t", 1)
	s, err := Sink(topic, serde.String, serde.String).Open(r.ctx, env, connector.Task{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(&rec{Value: "v", Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(r.ctx); err != nil {
		t.Fatal(err)
	}
	env.Appender.Cut(1)
	if ends := r.flush(w, 1); ends[wire.TopicPartition{Topic: topic}] != 1 {
		t.Errorf("ends %v", ends)
	}
	s.Close()
}

func TestWriteAllocatesNothing(t *testing.T) {
	r := newRig(t)
	topic := r.topic(1)
	w := open(r, Sink(topic, serde.String, serde.String))
	x := rec{Key: "key", Value: strings.Repeat("v", 100), Time: time.Now()}
	for range 5000 {
		if err := w.Write(&x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(r.ctx); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { _ = w.Write(&x) }); n > 0.2 {
		t.Errorf("%.2f allocations per record", n)
	}
}

// The clock is read only where it may matter: a time that the limits allowed at an earlier clock is allowed now.
func TestTimeLimitsReadTheClockWhereItMatters(t *testing.T) {
	clock, reads := int64(1_000_000), 0
	now := func() time.Time { reads++; return time.UnixMilli(clock) }
	l := timeLimits{before: -1, after: 1000}
	for i, step := range []struct {
		clock, at int64
		ok        bool
		reads     int
	}{
		{1_000_000, 1_001_000, true, 1}, // at the limit
		{1_000_000, 900_000, true, 0},
		{1_005_000, 1_001_000, true, 0},
		{1_005_000, 1_006_000, true, 1}, // ahead of the last look, not of the clock
		{1_005_000, 1_006_001, false, 1},
		{1_006_000, 1_006_001, true, 1},
	} {
		clock, reads = step.clock, 0
		if err := l.check(step.at, now); (err == nil) != step.ok || reads != step.reads {
			t.Errorf("step %d: %v, clock read %d times", i, err, reads)
		}
	}
	l = timeLimits{before: 1000, after: -1}
	if clock = 5000; l.check(4000, now) != nil {
		t.Error("at the limit")
	}
	if clock++; l.check(4000, now) == nil {
		t.Error("too old, and taken")
	}
}

// Tasks that come to a process are made while others wait for their checkpoints: what the cluster says of a sink's topic is asked for once.
func TestSinksOfTasksAskOnce(t *testing.T) {
	c := fake(t)
	r := newTxRig(t, c.ListenAddrs()...)
	topic := r.topic(16)
	asked := watch(c, kmsg.DescribeConfigs)
	for i := range 16 {
		env := r.env()
		env.Appender = r.appender(r.tx, fmt.Sprint(i), 1)
		w, err := Sink(topic, serde.String, serde.String).Open(r.ctx, env, connector.Task{Name: "t", Partition: i})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
	}
	if n := len(asked()); n != 1 {
		t.Errorf("%d requests for the settings of one topic", n)
	}
}
