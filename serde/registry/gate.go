package registry

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 3 * time.Second
)

// A gate paces requests while the registry is failing. One gate serves the whole client: a hundred tasks that wait for a
// hundred schemas must not be a hundred times as hard on a registry that is trying to come back. While all is well
// it is open and costs a lock.
type gate struct {
	mu       sync.Mutex
	failures int           // rounds in a row
	round    uint64        // grows with every failure that counted
	next     time.Time     // when one more attempt may pass; of no meaning while open
	opened   chan struct{} // closed when the registry answers again; nil while open
}

// errBusy is why a call gave up waiting for its turn.
var errBusy = errors.New("it has failed a moment ago, and is asked again at intervals")

// pass waits for leave to make a request, and returns the round it belongs to. It fails when ctx ends first, and when the turn
// would come after until: who waits is a worker that has other tasks.
func (g *gate) pass(ctx context.Context, until time.Time) (uint64, error) {
	for {
		wait, round, opened := g.admit()
		if wait <= 0 {
			return round, ctx.Err()
		}
		left := time.Until(until)
		if left <= 0 {
			return 0, errBusy
		}
		wait = min(wait, left)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		case <-opened:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// admit lets the caller through (0), or says how long to wait at most. Whoever is let through while the registry is
// failing takes the slot: the next one comes a backoff later.
func (g *gate) admit() (wait time.Duration, round uint64, opened <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failures == 0 {
		return 0, g.round, nil
	}
	now := time.Now()
	if wait := g.next.Sub(now); wait > 0 {
		return wait, 0, g.opened
	}
	g.next = now.Add(backoff(g.failures))
	return 0, g.round, nil
}

// failed notes a request that nobody answered. Requests of one round that fail together count once.
func (g *gate) failed(round uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if round != g.round {
		return
	}
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
	g.round++
	g.failures++
	g.next = time.Now().Add(backoff(g.failures))
}

// succeeded opens the gate for everyone.
func (g *gate) succeeded() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failures == 0 {
		return
	}
	g.failures = 0
	close(g.opened)
	g.opened = nil
}

// backoff doubles from minBackoff to maxBackoff, give or take a third, so that processes that failed together do not
// return together.
func backoff(failures int) time.Duration {
	d := min(minBackoff<<min(failures-1, 10), maxBackoff)
	return d*2/3 + rand.N(d*2/3)
}
