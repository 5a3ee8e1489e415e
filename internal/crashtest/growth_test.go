package crashtest

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// grow gives the topic two more partitions.
func grow(c *memory.Cluster, _ *atomic.Bool) error { return c.Grow("in", partitions+2) }

// growing runs an app whose source changes while it runs. While hold is set, nothing can be read.
func growing(t *testing.T, build func(*stream.Builder), change func(c *memory.Cluster, hold *atomic.Bool) error) (c *memory.Cluster, app *stream.App, ended chan error) {
	t.Helper()
	var hold atomic.Bool
	c = &memory.Cluster{Judge: faults.JudgeFunc(func(r faults.Request) (f faults.Fate) {
		if r.Kind == faults.Fetch && hold.Load() {
			f.Refuse = faults.ErrLost
		}
		return f
	})}
	inAndOut(t, c, partitions)
	app, ended = runs(t, c, build, func(config *stream.Config) { config.SessionTimeout = 2 * time.Second })
	until(t, "all tasks run", func() bool { return len(app.Status().Tasks) >= partitions })
	appendTo(t, c, 0)
	until(t, "the first record is committed", func() bool { return len(c.Committed("app")) > 0 })
	if err := change(c, &hold); err != nil {
		t.Fatal(err)
	}
	return c, app, ended
}

func appendTo(t *testing.T, c *memory.Cluster, partition int32) {
	t.Helper()
	if _, err := c.Append("in", partition, wire.Record{Time: time.Now().UnixMilli(), Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
}

// A topology without state takes new partitions in while it runs.
func TestGrowthIsTakenIn(t *testing.T) {
	c, app, ended := growing(t, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).To(kafka.Sink("out", serde.String, serde.String))
	}, grow)
	until(t, "tasks for the new partitions", func() bool { return len(app.Status().Tasks) == partitions+2 })
	appendTo(t, c, partitions+1)
	until(t, "a record of a new partition is committed", func() bool {
		return c.Committed("app")[wire.TopicPartition{Topic: "in", Partition: partitions + 1}].Offset == 1
	})
	if err := app.Stop(t.Context(), stream.Handover); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// State is kept by partition, and its keys would be in others now: the app stops, at a checkpoint, and says what to do.
func TestGrowthUnderState(t *testing.T) {
	c, _, ended := growing(t, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().Count().ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
	}, grow)
	err := <-ended
	if !errors.Is(err, stream.ErrTopic) || !strings.Contains(err.Error(), "the count cannot change; use another app name") {
		t.Fatalf("Run: %v", err)
	}
	if at := c.Committed("app")[wire.TopicPartition{Topic: "in", Partition: 0}].Offset; at != 1 {
		t.Errorf("the last position is %d, want 1", at)
	}
	if open := c.OpenTransactions("app"); len(open) > 0 {
		t.Errorf("transactions are open: %v", open)
	}
}

// Behind a repartition with a count of its own, state does not notice.
func TestGrowthBeforeARepartition(t *testing.T) {
	c, app, ended := growing(t, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).Repartition(stream.Partitions(partitions)).
			GroupByKey().Count(stream.OnUpdate).ToStream().To(kafka.Sink("out", serde.String, serde.Int64))
	}, grow)
	until(t, "tasks for the new partitions", func() bool { return len(app.Status().Tasks) == 2*partitions+2 })
	appendTo(t, c, partitions+1)
	until(t, "the key is counted on", func() bool {
		return slices.ContainsFunc(outputs(t, c), func(r wire.Record) bool {
			n, err := serde.Int64.Decode(r.Value)
			return err == nil && n == 2
		})
	})
	if err := app.Stop(t.Context(), stream.Handover); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
