package crashtest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A transaction of another app that stays open in a source holds back what lies behind it. Status names the place and how long it has waited, and
// nothing once the transaction is over.
func TestOpenTransactionInASource(t *testing.T) {
	for name, from := range map[string]func() *kafka.TopicSource[string, string]{
		"one topic": func() *kafka.TopicSource[string, string] { return kafka.Source("in", serde.String, serde.String) },
		"by pattern": func() *kafka.TopicSource[string, string] {
			return kafka.Source("in", serde.String, serde.String, kafka.TopicPattern(regexp.MustCompile("in")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := counting()
			s.build = func(b *stream.Builder, _ *world) {
				b.Source(from()).GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
			}
			w, err := newWorld(s, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.send(); err != nil {
				t.Fatal(err)
			}
			w.steps(t, 1)
			at := w.c.Committed("app")[wire.TopicPartition{Topic: "in", Partition: 1}].Offset
			openIn(t, w.c, "in")
			if err := w.send(); err != nil {
				t.Fatal(err)
			}
			w.steps(t, 1)
			if err := w.procs[0].d.Status().Paused; err != nil {
				t.Errorf("an open transaction is named at once: %v", err)
			}
			w.c.Advance(42 * time.Second)
			said := fmt.Sprint(w.procs[0].d.Status().Paused)
			for _, words := range []string{"in/1", "topic in partition 1", fmt.Sprintf("offset %d,", at), "42s"} {
				if !strings.Contains(said, words) {
					t.Errorf("paused: %q says nothing of %q", said, words)
				}
			}
			if err := w.connect(t).Fence(t.Context(), "other-1"); err != nil {
				t.Fatal(err)
			}
			w.steps(t, 1)
			if err := w.procs[0].d.Status().Paused; err != nil {
				t.Errorf("paused: %v", err)
			}
		})
	}
}

// The same where readers wait in goroutines.
func TestOpenTransactionIsSeenByAnApp(t *testing.T) {
	c := &memory.Cluster{Start: eventTime}
	inAndOut(t, c, 1)
	app, ended := runs(t, c, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).To(kafka.Sink("out", serde.String, serde.String))
	}, func(config *stream.Config) { config.State = state.InMemory() })
	<-app.Ready()
	openIn(t, c, "in")
	until(t, "the transaction is named", func() bool {
		c.Advance(time.Second)
		return strings.Contains(fmt.Sprint(app.Status().Paused), "topic in partition 0 is not read behind offset 0")
	})
	l, err := c.Connect(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Fence(t.Context(), "other-1"); err != nil {
		t.Fatal(err)
	}
	until(t, "nothing is waited for", func() bool { return app.Status().Paused == nil })
	if err := app.Stop(context.WithoutCancel(t.Context()), stream.Handover); err != nil {
		t.Fatal(err)
	}
	<-ended
}
