package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state/pebblestore"
	"github.com/weirstream/weir/stream"
)

// again deletes the topic in and makes it anew, with many records in each partition, and says the ids before and after.
func (w *world) again(t *testing.T, many int) (was, is string) {
	t.Helper()
	return w.anew(t, "in", many, map[string]string{"retention.ms": "-1"})
}

// anew is again for any topic.
func (w *world) anew(t *testing.T, topic string, many int, configs map[string]string) (was, is string) {
	t.Helper()
	id := func() string {
		found, err := w.connect(t).Topics(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		return found[topic].ID
	}
	was = id()
	w.c.Delete(topic)
	if err := w.c.Create(topic, partitions, configs); err != nil {
		t.Fatal(err)
	}
	for p := range int32(partitions) {
		for range many {
			if _, err := w.c.Append(topic, p, wire.Record{Time: eventTime.UnixMilli(), Key: []byte("other"), Value: []byte("v")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return was, id()
}

// A topic that was deleted and made anew under its name, with as many records, has none that was processed: its positions say nothing in it.
func TestSourceIsMadeAnew(t *testing.T) {
	for name, c := range map[string]struct {
		s         scenario
		meanwhile func(w *world)
	}{
		"with state":         {counting(), func(*world) {}},
		"state deleted":      {counting(), func(w *world) { w.procs[0].disk.applied = nil }},
		"positions expired":  {counting(), func(w *world) { w.c.ForgetOffsets("app") }},
		"without state":      {scenario{name: "pass", build: pass, check: everything}, func(*world) {}},
		"before an exchange": {scenario{name: "exchange", build: repartition, check: sums, config: overKafka}, func(*world) {}},
		"positions come first": {scenario{name: "first", build: pass, check: everything,
			config: func(c *stream.Config) { c.Guarantee = stream.AtMostOnce }}, func(*world) {}},
	} {
		t.Run(name, func(t *testing.T) {
			w := half(t, c.s)
			c.meanwhile(w)
			was, is := w.again(t, records)
			w.refuses(t, engine.ErrTopic, "topic in ", was, is, "OnPositionLost", "delete the app's group")
		})
	}
}

// What was on its way through a repartition topic is lost with the topic.
func TestRepartitionTopicIsMadeAnew(t *testing.T) {
	w := half(t, scenario{name: "exchange", build: repartition, check: sums, config: overKafka})
	for name := range w.c.Topics() {
		if strings.HasSuffix(name, "-repartition") {
			w.c.Delete(name)
		}
	}
	w.refuses(t, engine.ErrTopic, "repartition topic app-", "made anew")
}

// A changelog that was deleted and made anew does not have the state that a commit names, however many records it has. Where this disk has the
// state, it is the only copy: that is not for the app to decide.
func TestChangelogIsMadeAnew(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world){
		"state there":                      func(*world) {},
		"state deleted":                    func(w *world) { w.procs[0].disk.applied = nil },
		"positions expired":                func(w *world) { w.c.ForgetOffsets("app") },
		"positions expired, state deleted": func(w *world) { w.c.ForgetOffsets("app"); w.procs[0].disk.applied = nil },
	} {
		for _, many := range []int{0, 10 * records} {
			t.Run(fmt.Sprint(name, " ", many), func(t *testing.T) {
				w := half(t, counting())
				meanwhile(w)
				log := w.changelogs()[0]
				was, is := w.anew(t, log, many, map[string]string{"cleanup.policy": "compact", "message.timestamp.type": "CreateTime",
					"message.timestamp.before.max.ms": "9223372036854775807", "message.timestamp.after.max.ms": "9223372036854775807"})
				w.refuses(t, engine.ErrTopic, "changelog "+log+" was deleted and made anew", was, is, "delete the app's group")
			})
		}
	}
}

// The changelog behind a local exchange is itself what positions are in.
func TestChangelogBehindAnExchangeIsMadeAnew(t *testing.T) {
	w := half(t, scenario{name: "exchange", build: repartition, check: sums})
	name := w.changelogs()[0]
	w.c.Delete(name)
	w.refuses(t, engine.ErrTopic, "changelog "+name, "made anew")
}

// Who has said where to go on goes on there, with the state that there is.
func TestSourceMadeAnewGoesOn(t *testing.T) {
	for policy, want := range map[kafka.LostPolicy]int{kafka.GoOnEarliest: partitions * records, kafka.GoOnLatest: 0} {
		w := half(t, counting())
		w.again(t, records)
		w.s.build = func(b *stream.Builder, _ *world) {
			b.Source(kafka.Source("in", serde.String, serde.String, kafka.OnPositionLost(policy))).
				GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
		}
		w.steps(t, 2)
		if _, err := w.c.Append("in", 0, wire.Record{Time: eventTime.UnixMilli(), Key: []byte(key(0)), Value: []byte("v")}); err != nil {
			t.Fatal(err)
		}
		w.steps(t, 1)
		w.stops(t)
		out, err := oracle.Read(t.Context(), w.connect(t), "out")
		if err != nil {
			t.Fatal(err)
		}
		other, last := 0, int64(0)
		for _, records := range out {
			for _, r := range records {
				switch n, _ := serde.Int64.Decode(r.Value); string(r.Key) {
				case "other":
					other++
				case key(0):
					last = max(last, n)
				}
			}
		}
		before := int64(0)
		for i := range w.sent {
			if key(i) == key(0) {
				before++
			}
		}
		if other != want || last != before+1 {
			t.Errorf("policy %d: %d records of the new topic, want %d; the count is %d, want %d", policy, other, want, last, before+1)
		}
	}
}

// noIDs is a connection to a cluster that does not tell ids.
type noIDs struct{ wire.Log }

func (n noIDs) Topics(ctx context.Context, names ...string) (map[string]wire.Topic, error) {
	found, err := n.Log.Topics(ctx, names...)
	for name, topic := range found {
		topic.ID = ""
		found[name] = topic
	}
	return found, err
}

// A cluster that tells no ids is borne, and so is one that begins or ceases to tell them.
func TestClustersWithoutTopicIDs(t *testing.T) {
	without := func(w *world) { w.procs[0].through = func(l wire.Log) wire.Log { return noIDs{l} } }
	with := func(w *world) { w.procs[0].through = nil }
	for name, c := range map[string]struct{ before, after func(w *world) }{
		"never": {without, without}, "no more": {with, without}, "from now on": {without, with},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := newWorld(counting(), 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.before(w)
			for range 2 {
				if err := w.send(); err != nil {
					t.Fatal(err)
				}
				w.steps(t, 1)
			}
			w.stops(t)
			c.after(w)
			w.finish(t)
		})
	}
}

// Positions that a version without ids has committed are read, and get ids with the next commit.
func TestPositionsWithoutTopicIDs(t *testing.T) {
	w := half(t, counting())
	l := w.connect(t)
	var old []wire.Position
	for tp, c := range w.c.Committed("app") {
		f := strings.Split(c.Metadata, ";")
		if len(f) != 7 || f[0] != "3" || f[5] == "" {
			t.Fatalf("metadata %q of %v has no id", c.Metadata, tp)
		}
		f[4] = regexp.MustCompile(":[^,]*").ReplaceAllString(f[4], "")
		c.Metadata = strings.Join(append(append([]string{"1"}, f[1:5]...), f[6]), ";")
		old = append(old, wire.Position{TopicPartition: tp, Committed: c})
	}
	if err := l.CommitPlain(t.Context(), wire.Identity{Group: "app", Generation: -1}, old); err != nil {
		t.Fatal(err)
	}
	w.finish(t)
	for tp, c := range w.c.Committed("app") {
		if !strings.HasPrefix(c.Metadata, "3;") {
			t.Errorf("%v: %q", tp, c.Metadata)
		}
	}
}

// While the app runs it looks at its topics now and then: it stops at a checkpoint, and the positions that it leaves are those of the topic that was.
func TestSourceIsMadeAnewMeanwhile(t *testing.T) {
	c, _, ended := growing(t, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).To(kafka.Sink("out", serde.String, serde.String))
	}, func(c *memory.Cluster, hold *atomic.Bool) error {
		hold.Store(true)
		defer hold.Store(false)
		c.Delete("in")
		if err := c.Create("in", partitions, nil); err != nil {
			return err
		}
		for range 3 {
			appendTo(t, c, 0)
		}
		return nil
	})
	err := <-ended
	if !errors.Is(err, stream.ErrTopic) || !strings.Contains(err.Error(), "made anew") {
		t.Fatalf("Run: %v", err)
	}
	if open := c.OpenTransactions("app"); len(open) > 0 {
		t.Errorf("transactions are open: %v", open)
	}
}

// TestSourceIsMadeAnewOnBroker is the same over connections: with a cluster, and with positions in the database alone.
func TestSourceIsMadeAnewOnBroker(t *testing.T) {
	for name, local := range map[string]bool{"group": false, "database": true} {
		t.Run(name, func(t *testing.T) {
			broker := kafkatest.Start(t)
			in, app := broker.Topic("in", 1), broker.Name("app")
			cluster := &kafka.Cluster{Brokers: broker.Brokers()}
			dir := t.TempDir()
			out := memory.Collect[string, int64]("out")
			run := func(ctx context.Context) error {
				b := stream.New(app)
				b.Source(kafka.Source(in, serde.String, serde.String, kafka.On(cluster))).GroupByKey().Count(stream.OnUpdate).ToStream().To(out)
				config := stream.Config{State: pebblestore.New(), StateDir: dir, CheckpointInterval: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
				if !local {
					config.Cluster = cluster
				}
				built, err := b.Build(config)
				if err != nil {
					t.Fatal(err)
				}
				return built.Run(ctx)
			}
			fill := func() {
				for range 10 {
					broker.Produce(in, kafkatest.KV("k", "v"))
				}
			}
			fill()
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- run(ctx) }()
			until(t, "all is counted", func() bool { return len(out.Records()) == 10 })
			cancel()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			broker.DeleteTopic(in)
			broker.CreateTopic(in, 1, nil)
			fill()
			fill()
			ctx, cancel = context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := run(ctx); !errors.Is(err, stream.ErrTopic) || !strings.Contains(fmt.Sprint(err), "topic "+in+" was deleted and made anew") {
				t.Errorf("Run: %v", err)
			}
			if n := len(out.Records()); n != 10 {
				t.Errorf("%d records came out, want 10", n)
			}
		})
	}
}
