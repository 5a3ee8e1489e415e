package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/relay"
	"github.com/weirstream/weir/internal/wire"
)

var at = wire.TopicPartition{Topic: "app-outbox"}

// A world is two clusters with an outbox on one and a topic on the other.
type world struct {
	*testing.T
	near, far *memory.Cluster
	log       wire.Log
	out       wire.Out
	w         wire.Writer
	a         wire.Appender
	n         uint64
	id        string // of the outbox
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, near: &memory.Cluster{}, far: &memory.Cluster{}, id: "1"}
	if err := errors.Join(w.near.Create(at.Topic, 1, nil), w.far.Create("out", 2, nil)); err != nil {
		t.Fatal(err)
	}
	w.log = w.connect(w.near)
	return w
}

func (w *world) connect(c *memory.Cluster) wire.Log {
	l, err := c.Connect(context.Background(), "app")
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = l.Close() })
	return l
}

func (w *world) relay() *relay.Relay {
	r := relay.New(relay.Config{
		App: "app", Outbox: relay.NewOutbox(at.Topic, relay.LentFar(w.connect(w.far))), TopicID: w.id, Partitions: 1,
		Near: w.log, Timeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
	})
	w.Cleanup(r.Close)
	return r
}

// write puts values into the outbox as a sink does.
func (w *world) write(values ...string) {
	ctx := context.Background()
	if w.w == nil {
		var err error
		if w.w, err = w.log.Writer(ctx, wire.WriterConfig{}); err != nil {
			w.Fatal(err)
		}
		if w.a, err = w.w.Appender("task", 1); err != nil {
			w.Fatal(err)
		}
		near, err := w.a.To(ctx, at.Topic)
		if err != nil {
			w.Fatal(err)
		}
		to := relay.NewOutbox(at.Topic, relay.LentFar(w.connect(w.far))).Appender(near, 0, func(string, []byte) {})
		if w.out, err = to.To(ctx, "out"); err != nil {
			w.Fatal(err)
		}
	}
	for _, v := range values {
		w.out.Append(1, 7, []byte("k"), []byte(v), []wire.Header{{Key: "h", Value: []byte(v)}})
	}
	w.n++
	w.a.Cut(w.n)
	if _, err := w.w.Flush(ctx, w.n); err != nil {
		w.Fatal(err)
	}
}

func step(r *relay.Relay) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := r.Step(context.Background(), ended)
	return err
}

// sees fails unless these values are committed on the far cluster, as they were written.
func (w *world) sees(want string) {
	w.Helper()
	records, _, err := w.far.Records("out", 1, 0)
	if err != nil {
		w.Fatal(err)
	}
	var got []string
	for _, r := range records {
		got = append(got, string(r.Value))
		if len(r.Headers) != 1 || string(r.Headers[0].Value) != string(r.Value) || r.Time != 7 {
			w.Errorf("record %+v", r)
		}
	}
	if s := strings.Join(got, " "); s != want {
		w.Errorf("the other cluster has %q, want %q", s, want)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func TestRecordsKeepOrderAndHeaders(t *testing.T) {
	w := newWorld(t)
	r := w.relay()
	w.must(step(r))
	w.write("1", "2", "3")
	r.Wrote(3)
	if r.Lag() != 3 {
		t.Errorf("lag is %d", r.Lag())
	}
	w.must(step(r))
	w.sees("1 2 3")
	if r.Lag() != 0 {
		t.Errorf("lag is %d", r.Lag())
	}
	r.Close()
	w.write("4")
	w.must(step(r))
	w.must(step(w.relay()))
	w.sees("1 2 3 4")
}

// A relay that another one has replaced carries nothing more, whatever it has read; told so, it takes over in its turn.
func TestOldRelayIsFenced(t *testing.T) {
	w := newWorld(t)
	old := w.relay()
	w.must(step(old)) // its first batch is when it deletes what is carried
	w.write("1")
	w.must(step(old))
	next := w.relay()
	w.must(step(next))
	w.write("2")
	if err := step(old); !errors.Is(err, wire.ErrFenced) {
		t.Errorf("the old one: %v", err)
	}
	w.sees("1")
	w.must(step(next))
	w.sees("1 2")
	w.must(step(old))
	w.write("3")
	if err := step(next); !errors.Is(err, wire.ErrFenced) {
		t.Errorf("the one in between: %v", err)
	}
	w.must(step(old))
	w.sees("1 2 3")
}

// What it has read up to was deleted by the relay that replaced it: that is no loss.
func TestOldRelayBehindAPurge(t *testing.T) {
	w := newWorld(t)
	old := w.relay()
	w.must(step(old))
	w.write("1")
	w.must(step(w.relay()))
	if err := step(old); err == nil || errors.Is(err, relay.ErrGone) {
		t.Errorf("got %v", err)
	}
	w.must(step(old))
	w.sees("1")
}

func TestOutboxMadeAnewIsCarriedFromItsStart(t *testing.T) {
	w := newWorld(t)
	w.write("1", "2")
	w.must(step(w.relay()))
	w.near.Delete(at.Topic)
	w.must(w.near.Create(at.Topic, 1, nil))
	w.w, w.n, w.id = nil, 0, "2"
	w.write("3")
	w.must(step(w.relay()))
	w.sees("1 2 3")
}

func TestWhatCannotBeCarried(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *world)
		want  error
		says  string
	}{
		"a record of somebody else": {func(w *world) {
			_, err := w.near.Append(at.Topic, 0, wire.Record{Value: []byte("x")})
			w.must(err)
		}, nil, "app-outbox/0@1: to the other cluster: record 1: it does not say where it is for"},
		"a record that is too large": {func(w *world) {
			w.write(strings.Repeat("x", 500))
			w.must(w.far.Configure("out", map[string]string{"max.message.bytes": "200"}))
		}, nil, "raise its max.message.bytes"},
		"a topic made anew with fewer partitions": {func(w *world) {
			w.write("2")
			w.far.Delete("out")
			w.must(w.far.Create("out", 1, nil))
		}, nil, `partition 1 of topic "out", which has 1`},
		"records deleted before they were carried": {func(w *world) {
			w.write("2", "3")
			w.must(w.log.DeleteRecords(context.Background(), map[wire.TopicPartition]int64{at: 2}))
		}, relay.ErrGone, "carried up to 1"},
		"an outbox that is shorter than what was carried": {func(w *world) {
			w.near.Delete(at.Topic)
			w.must(w.near.Create(at.Topic, 1, nil))
		}, relay.ErrGone, "carried up to 1, and has 0 to 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("1")
			w.must(step(w.relay()))
			c.spoil(w)
			err := step(w.relay())
			if err == nil || !strings.Contains(err.Error(), c.says) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
