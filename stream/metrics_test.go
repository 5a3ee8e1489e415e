package stream_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/stream"
)

// measured are the metrics that a test looks at.
type measured struct {
	mu     sync.Mutex
	values map[string]float64
}

func (m *measured) add(key string, v float64, set bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !set {
		v += m.values[key]
	}
	m.values[key] = v
}

func (m *measured) get(key string) (float64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	return v, ok
}

func (m *measured) Counter(name string, labels ...string) func(int64) {
	key := name + " " + strings.Join(labels, " ")
	return func(n int64) { m.add(key, float64(n), false) }
}

func (m *measured) Gauge(name string, labels ...string) func(float64) {
	key := strings.TrimSpace(name + " " + strings.Join(labels, " "))
	return func(v float64) { m.add(key, v, true) }
}

// TestMetrics: what is dropped is counted, and gauges say how far tasks are and what the registry's client does.
func TestMetrics(t *testing.T) {
	c := &memory.Cluster{}
	for _, topic := range []string{"in", "out"} {
		if err := c.Create(topic, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	b := stream.New("measured")
	b.Source(kafka.Source("in", serde.String, serde.Int64), stream.OnError(stream.Skip)). // eight bytes, which the records do not have
												To(kafka.Sink("out", serde.String, serde.Int64))
	m := &measured{values: map[string]float64{}}
	app, err := b.Build(stream.Config{Cluster: c, Metrics: m, Registry: registry.New(registry.Config{URLs: []string{"http://127.0.0.1:1"}})})
	if err != nil {
		t.Fatal(err)
	}
	writing(t, c, "in", 0, 5)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- app.Run(ctx) }()
	until(t, "rejected records to be counted", func() bool { v, _ := m.get("weir_rejected_total node in"); return v == 5 })
	until(t, "the task's gauge", func() bool { v, ok := m.get("weir_task_lag task in/0"); return ok && v == 0 })
	until(t, "how long a checkpoint kept the task", func() bool { v, _ := m.get("weir_task_stall_seconds task in/0"); return v > 0 })
	until(t, "how long a checkpoint took", func() bool { v, _ := m.get("weir_checkpoint_seconds"); return v > 0 })
	until(t, "the registry's gauge", func() bool { v, ok := m.get("weir_registry_requests"); return ok && v == 0 })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// distributed are metrics with histograms. They keep how often each was given something.
type distributed struct{ measured }

func (m *distributed) Histogram(name string, labels ...string) func(float64) {
	key := strings.TrimSpace(name+" "+strings.Join(labels, " ")) + " count"
	return func(v float64) {
		if v > 0 {
			m.add(key, 1, false)
		}
	}
}

// TestHistograms: metrics with histograms get each checkpoint and each stall, and no gauges of the same names.
func TestHistograms(t *testing.T) {
	c := &memory.Cluster{}
	for _, topic := range []string{"in", "out"} {
		if err := c.Create(topic, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	b := stream.New("distributed")
	b.Source(kafka.Source("in", serde.String, serde.String)).To(kafka.Sink("out", serde.String, serde.String))
	m := &distributed{measured{values: map[string]float64{}}}
	app, err := b.Build(stream.Config{Cluster: c, Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	writing(t, c, "in", 0, 5)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- app.Run(ctx) }()
	until(t, "checkpoints", func() bool { n, _ := m.get("weir_checkpoint_seconds count"); return n >= 2 })
	until(t, "stalls", func() bool { n, _ := m.get("weir_task_stall_seconds task in/0 count"); return n >= 2 })
	until(t, "a gauge", func() bool { _, ok := m.get("weir_task_lag task in/0"); return ok })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, gauge := range []string{"weir_checkpoint_seconds", "weir_task_stall_seconds task in/0"} {
		if _, ok := m.get(gauge); ok {
			t.Errorf("the gauge %s beside the histogram", gauge)
		}
	}
}
