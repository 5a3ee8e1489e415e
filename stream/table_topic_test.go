package stream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/table"
)

// compacted are the settings of a topic that is its table's changelog.
func compacted(lag time.Duration) map[string]string {
	return map[string]string{"cleanup.policy": "compact", "min.compaction.lag.ms": fmt.Sprint(lag.Milliseconds()), "delete.retention.ms": "0"}
}

// owners is an app with a table whose topic is its changelog: records look rows up, and each change of a row is told with what it was.
func owners(opts ...stream.TableSourceOption) *stream.Builder {
	return tenants(append(opts, stream.TopicIsChangelog())...)
}

// tenants is owners whose table has a changelog of its own.
func tenants(opts ...stream.TableSourceOption) *stream.Builder {
	b := stream.New("owners")
	rows := b.Table(kafka.Source("rows", serde.String, serde.String), opts...)
	b.Source(kafka.Source("in", serde.String, serde.String)).
		LeftJoinTable(rows, func(v, row string, _ bool) string { return v + "+" + row }).
		To(kafka.Sink("out", serde.String, serde.String))
	rows.Changes().MapValues(func(c table.Change[string]) string { return c.Old + ">" + c.New }).
		To(kafka.Sink("changes", serde.String, serde.String))
	return b
}

// ownersTopics makes a cluster for owners; put writes a record of now minus ago, without a value a deletion.
func ownersTopics(t *testing.T, lag time.Duration) (c *memory.Cluster, put func(topic, key, value string, ago time.Duration)) {
	t.Helper()
	c = &memory.Cluster{}
	for topic, configs := range map[string]map[string]string{"rows": compacted(lag), "in": nil, "out": nil, "changes": nil} {
		if err := c.Create(topic, 1, configs); err != nil {
			t.Fatal(err)
		}
	}
	return c, func(topic, key, value string, ago time.Duration) {
		t.Helper()
		r := wire.Record{Key: []byte(key), Value: []byte(value), Time: time.Now().Add(-ago).UnixMilli()}
		if value == "" {
			r.Value = nil
		}
		if _, err := c.Append(topic, 0, r); err != nil {
			t.Fatal(err)
		}
	}
}

// life runs an app with a new state until it has written all that is wanted in a topic, and returns what it has and the app's last status.
func life(t *testing.T, c *memory.Cluster, b *stream.Builder, topic string, n int) ([]string, stream.Status) {
	t.Helper()
	app, err := b.Build(stream.Config{Cluster: c, State: state.InMemory(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Run(context.Background()) }()
	until(t, "output", func() bool { return len(committedValues(t, c, topic)) >= n })
	status := app.Status()
	if err := errors.Join(app.Stop(context.Background(), stream.Handover), <-ended); err != nil {
		t.Fatal(err)
	}
	return committedValues(t, c, topic), status
}

// A table whose topic is its changelog has no other one, and is restored from that to exactly where the last commit was: compaction may
// have run, later records, also of open and aborted transactions, are not in it yet.
func TestTopicIsChangelog(t *testing.T) {
	c, put := ownersTopics(t, time.Hour)
	put("rows", "a", "a1", 5*time.Hour)
	put("rows", "a", "a2", 4*time.Hour)
	put("rows", "b", "b1", 3*time.Hour)
	put("rows", "c", "c1", 3*time.Hour)
	put("rows", "c", "", 2*time.Hour)
	put("in", "a", "x", 0)
	if got, _ := life(t, c, owners(), "out", 1); !slices.Equal(got, []string{"x+a2"}) {
		t.Fatalf("first life: %q", got)
	}
	c.Compact()
	c.Compact()
	if left, _, err := c.Records("rows", 0, 0); err != nil || len(left) >= 5 {
		t.Fatalf("nothing was compacted: %d records, %v", len(left), err)
	}
	put("rows", "b", "b2", 0) // behind the position: the row is still b1 until it is read
	put("in", "a", "y", 0)
	put("in", "c", "z", 0)
	got, status := life(t, c, owners(), "changes", 6)
	if want := []string{">a1", "a1>a2", ">b1", ">c1", "c1>", "b1>b2"}; !slices.Equal(got, want) {
		t.Errorf("changes: %q, want %q", got, want)
	}
	if got, want := committedValues(t, c, "out"), []string{"x+a2", "y+a2", "z+"}; !slices.Equal(got, want) {
		t.Errorf("joined: %q, want %q", got, want)
	}
	for topic := range c.Topics() {
		if strings.HasSuffix(topic, "-changelog") {
			t.Errorf("there is a changelog: %s", topic)
		}
	}
	if got := status.Changelogs["rows-table"]; got != "rows" {
		t.Errorf("status: the changelogs are %v", status.Changelogs)
	}
	printed, err := owners().Topology()
	if err != nil || !strings.Contains(printed.String(), "changelog: its topic") {
		t.Errorf("printed:\n%s", printed)
	}
}

// What may have been compacted away behind the position is not guessed: a restore that cannot be exact says so.
func TestTopicIsChangelogWithinItsLag(t *testing.T) {
	c, put := ownersTopics(t, time.Hour)
	put("rows", "a", "a1", 3*time.Hour)
	put("in", "a", "x", 0)
	life(t, c, owners(), "out", 1)
	put("rows", "a", "a2", 2*time.Hour) // takes a1 with it
	c.Compact()
	app, err := owners().Build(stream.Config{Cluster: c, State: state.InMemory(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(t.Context()); !errors.Is(err, stream.ErrTopic) || !strings.Contains(err.Error(), "min.compaction.lag.ms") {
		t.Errorf("got %v", err)
	}
}

// A topic that does not keep what a changelog must keep is refused at start, and what cannot be restored by any topic at Build.
func TestTopicIsChangelogNeeds(t *testing.T) {
	for want, change := range map[string]map[string]string{
		"cleanup.policy=delete":    {"cleanup.policy": "delete"},
		"no min.compaction.lag.ms": {"min.compaction.lag.ms": "0"},
	} {
		c, _ := ownersTopics(t, time.Hour)
		if err := c.Configure("rows", change); err != nil {
			t.Fatal(err)
		}
		app, err := owners().Build(stream.Config{Cluster: c, State: state.InMemory(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := app.Run(t.Context()); !errors.Is(err, stream.ErrTopic) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	config := stream.Config{Cluster: &memory.Cluster{}, State: state.InMemory()}
	for want, b := range map[string]*stream.Builder{"Versioned": owners(stream.Versioned(time.Hour)), "policy Fail": owners(stream.OnError(stream.Skip))} {
		if _, err := b.Build(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	late := stream.New("late")
	late.Table(kafka.Source("rows", serde.String, serde.String, kafka.StartAt(kafka.Latest)), stream.TopicIsChangelog())
	if _, err := late.Build(config); err == nil || !strings.Contains(err.Error(), "from its start") {
		t.Errorf("started late: %v", err)
	}
}

// A table that shall have a changelog from now on has none of its rows in there: that is said, instead of beginning with an empty table, and
// what is said loses nothing.
func TestBackFromTopicIsChangelog(t *testing.T) {
	c, put := ownersTopics(t, time.Hour)
	put("rows", "a", "a1", 0)
	put("in", "a", "x", 0)
	life(t, c, owners(), "out", 1)
	app, err := tenants().Build(stream.Config{Cluster: c, State: state.InMemory(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = app.Run(t.Context())
	if !errors.Is(err, stream.ErrTopology) || !strings.Contains(err.Error(), "TopicIsChangelog") || !strings.Contains(err.Error(), "rows-table") {
		t.Errorf("got %v", err)
	}
	put("in", "a", "y", 0)
	if got, _ := life(t, c, owners(), "out", 2); !slices.Equal(got, []string{"x+a1", "y+a1"}) {
		t.Errorf("kept: %q", got)
	}
}

// A restore from a table's topic says how far it is, and keeps to the limit of restores: with one byte a second it gets no further than
// its first batch.
func TestTopicRestoreIsLimitedAndTold(t *testing.T) {
	c, put := ownersTopics(t, time.Hour)
	const n = 3000
	for i := range n {
		put("rows", fmt.Sprint("k", i), strings.Repeat("v", 4000), 0)
	}
	put("in", "k0", "x", -time.Second) // behind all rows
	life(t, c, owners(), "out", 1)
	told := make(chan stream.Restore, n)
	app, err := owners().Build(stream.Config{Cluster: c, State: state.InMemory(), Logger: slog.New(slog.DiscardHandler),
		RestoreBytesPerSecond: 1, OnRestore: func(r stream.Restore) { told <- r }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	until(t, "a restore that is under way", func() bool {
		for _, task := range app.Status().Tasks {
			if task.State == "restoring" && task.Restored > 0 && task.Restored < 1 {
				return true
			}
		}
		return false
	})
	cancel()
	<-ended
	if first := <-told; first.Total != n || first.Done != 0 || first.Ended {
		t.Errorf("told first: %+v", first)
	}
}
