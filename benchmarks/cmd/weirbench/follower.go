package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
)

// A follower notes of each partition how long it was silent, and of each record how often it came.
type follower struct {
	sending context.Context
	stop    context.CancelFunc
	sent    chan int64 // how many, when sending has stopped

	mu     sync.Mutex
	seen   map[int64]int
	last   []time.Time
	silent []time.Duration
}

func (w *follower) take(a broker.Arrival) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[a.N]++
	w.silent[a.Partition] = max(w.silent[a.Partition], a.At.Sub(w.last[a.Partition]))
	w.last[a.Partition] = a.At
	return true
}

// start begins a stretch of time.
func (w *follower) start(partitions int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = make([]time.Time, partitions)
		for p := range w.last {
			w.last[p] = time.Now()
		}
	}
	w.silent = make([]time.Duration, partitions)
}

// everywhere waits until each partition has had output.
func (w *follower) everywhere(ctx context.Context) error {
	return until(ctx, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for p := range w.last {
			if w.silent[p] == 0 {
				return fmt.Errorf("partition %d has no output", p)
			}
		}
		return nil
	})
}

// until tries again and again until there is no error or ctx ends.
func until(ctx context.Context, try func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// longest ends it: what is silent now counts too.
func (w *follower) longest() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.last {
		w.silent[p] = max(w.silent[p], time.Since(w.last[p]))
	}
	return slices.Clone(w.silent)
}

// complete stops the load and says whether every record came out once.
func (w *follower) complete(ctx context.Context) error {
	w.stop()
	sent := <-w.sent
	err := until(ctx, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if missing := sent - int64(len(w.seen)); missing > 0 {
			return fmt.Errorf("%d of %d records never came out", missing, sent)
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, times := range w.seen {
		if times > 1 {
			return fmt.Errorf("record %d came out %d times", n, times)
		}
	}
	return nil
}
