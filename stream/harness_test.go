package stream_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// rec is a record of the tests: a key, a value and a time in milliseconds of 2000-01-01.
func rec[V any](key string, v V, ms int) stream.Record[string, V] {
	return stream.Record[string, V]{Key: key, Value: v, Time: millennium.Add(time.Duration(ms) * time.Millisecond)}
}

var millennium = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fed is a source that In stands in for.
func fed[K, V any](b *stream.Builder, name string, opts ...stream.SourceOption) *stream.Stream[K, V] {
	return b.Source(memory.From(name, func(func(stream.Record[K, V]) bool) {}), opts...)
}

// pipe sends records through a chain and shows what comes out: key=value@ms, a line each.
func pipe[V, K2, V2 any](t *testing.T, chain func(*stream.Stream[string, V]) *stream.Stream[K2, V2], in ...stream.Record[string, V]) string {
	t.Helper()
	b := stream.New("pipe")
	chain(fed[string, V](b, "in")).To(memory.Collect[K2, V2]("out"))
	d := streamtest.New(t, b)
	to, out := d.In[string, V]("in"), d.Out[K2, V2]("out")
	for _, r := range in {
		to.SendRecord(r)
	}
	return show(out.Read())
}

// show is records as text: what a record does not have is left out.
func show[K, V any](rs []stream.Record[K, V]) string {
	var lines []string
	for _, r := range rs {
		key, value := fmt.Sprint(r.Key), fmt.Sprint(r.Value)
		if r.NoKey {
			key = "-"
		}
		if r.Deleted {
			value = "deleted"
		}
		line := fmt.Sprintf("%s=%s@%d", key, value, r.Time.Sub(millennium).Milliseconds())
		for _, h := range r.Headers {
			line += fmt.Sprintf(" %s:%s", h.Key, h.Value)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// same compares what show made.
func same(t *testing.T, got string, want ...string) {
	t.Helper()
	if w := strings.Join(want, "\n"); got != w {
		t.Errorf("got\n%s\nwant\n%s", got, w)
	}
}

// asSet compares lines in any order.
func asSet(t *testing.T, got string, want ...string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	slices.Sort(lines)
	slices.Sort(want)
	same(t, strings.Join(lines, "\n"), want...)
}

// words is the source of the examples: a record per text, whose key is its number.
func words(b *stream.Builder, texts ...string) *stream.Stream[int, string] {
	return b.Source(memory.From("texts", func(yield func(stream.Record[int, string]) bool) {
		for i, s := range texts {
			if !yield(stream.Record[int, string]{Key: i + 1, Value: s, Time: millennium.Add(time.Duration(i) * time.Second)}) {
				return
			}
		}
	}))
}

// print is how the examples show a record.
func print[K, V any](r stream.Record[K, V]) error {
	fmt.Println(r.Key, r.Value)
	return nil
}

// runExample runs an example to the end of its input.
func runExample(b *stream.Builder) {
	app, err := b.Build(stream.Config{State: state.InMemory(), Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = app.Run(context.Background())
	}
	if err != nil {
		fmt.Println(err)
	}
}

// counts is a Metrics that adds up.
type counts map[string]int64

func (c counts) Counter(name string, labels ...string) func(int64) {
	return func(n int64) { c[name+" "+strings.Join(labels, " ")] += n }
}

func (c counts) Gauge(string, ...string) func(float64) { return func(float64) {} }

// of is the sum of the counters of a name that have a label.
func (c counts) of(name, label string) (n int64) {
	for k, v := range c {
		if strings.HasPrefix(k, name+" ") && strings.Contains(k, label) {
			n += v
		}
	}
	return n
}
