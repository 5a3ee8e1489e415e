package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weirstream/weir/connector"
)

// A Collector is a sink that keeps records and takes part in checkpoints: what it has is what was committed. It is the example of a
// TwoPhaseSink that is as small as one can be, and outlives the app that writes to it, so that tests may crash the app.
type Collector[K, V any] struct {
	name string
	mu   struct {
		sync.Mutex
		prepared  map[string][]connector.Record[K, V] // by handle
		committed map[string]bool                     // handles, so that committing twice is nothing
		records   []connector.Record[K, V]
	}
}

// Collect makes a Collector.
func Collect[K, V any](name string) *Collector[K, V] {
	c := &Collector[K, V]{name: name}
	c.mu.prepared = map[string][]connector.Record[K, V]{}
	c.mu.committed = map[string]bool{}
	return c
}

// Records returns what has been committed, each task's records in their order.
func (c *Collector[K, V]) Records() []connector.Record[K, V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.mu.records)
}

// Prepared is how many handles are prepared and neither committed nor dropped.
func (c *Collector[K, V]) Prepared() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.prepared)
}

// Name implements connector.Sink, and what follows connector.TwoPhaseSink.
func (c *Collector[K, V]) Name() string { return c.name }

// Open is described at connector.Sink. Without Prepare, a flush commits.
func (c *Collector[K, V]) Open(_ context.Context, env connector.Env, task connector.Task) (connector.Writer[K, V], error) {
	return &collecting[K, V]{c: c, prefix: prefix(env, task)}, nil
}

// OpenTx is described at connector.TwoPhaseSink.
func (c *Collector[K, V]) OpenTx(_ context.Context, env connector.Env, task connector.Task) (connector.TxWriter[K, V], error) {
	return &collecting[K, V]{c: c, prefix: prefix(env, task)}, nil
}

// Commit is described at connector.TwoPhaseSink.
func (c *Collector[K, V]) Commit(_ context.Context, _ connector.Env, h connector.Handle) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.commitLocked(string(h))
}

func (c *Collector[K, V]) commitLocked(h string) error {
	if c.mu.committed[h] {
		return nil
	}
	records, ok := c.mu.prepared[h]
	if !ok {
		return fmt.Errorf("sink %s: handle %q was dropped or never prepared: %w", c.name, h, connector.ErrLost)
	}
	delete(c.mu.prepared, h)
	c.mu.committed[h] = true
	c.mu.records = append(c.mu.records, records...)
	return nil
}

// Recover is described at connector.TwoPhaseSink.
func (c *Collector[K, V]) Recover(_ context.Context, env connector.Env, task connector.Task, committed []connector.Handle) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range committed {
		if err := c.commitLocked(string(h)); err != nil {
			return err
		}
	}
	maps.DeleteFunc(c.mu.prepared, func(h string, _ []connector.Record[K, V]) bool {
		return strings.HasPrefix(h, prefix(env, task))
	})
	return nil
}

// prefix begins every handle of a task.
func prefix(env connector.Env, task connector.Task) string {
	return fmt.Sprintf("%s/%s/%d/", env.App, task.Name, task.Partition)
}

// collecting is one task's writer.
type collecting[K, V any] struct {
	c       *Collector[K, V]
	prefix  string
	pending []connector.Record[K, V]
}

func (w *collecting[K, V]) Write(r *connector.Record[K, V]) error {
	w.pending = append(w.pending, *r)
	return nil
}

func (w *collecting[K, V]) Flush(context.Context) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.mu.records = append(w.c.mu.records, w.pending...)
	w.pending = nil
	return nil
}

// Prepare names a handle by its checkpoint and by how many were prepared under that name before: a checkpoint's number comes again
// after a restart, and must then be another one.
func (w *collecting[K, V]) Prepare(_ context.Context, checkpoint uint64) (connector.Handle, error) {
	if len(w.pending) == 0 {
		return nil, nil
	}
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for try := 0; ; try++ {
		h := fmt.Sprintf("%s%d.%d", w.prefix, checkpoint, try)
		if _, taken := w.c.mu.prepared[h]; !taken && !w.c.mu.committed[h] {
			w.c.mu.prepared[h] = w.pending
			w.pending = nil
			return connector.Handle(h), nil
		}
	}
}

func (w *collecting[K, V]) Close() error { return nil }
