package memory

import (
	"context"
	"sync"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// A Cluster keeps topics, groups and transactions in memory. It follows Apache Kafka's rules as far as a stream processor can tell:
// transactions hold back the last stable offset until their markers are written, producers are fenced by epoch, groups rebalance
// cooperatively, retention goes by the records' own times. Apps that share a Cluster share its topics.
//
// The zero Cluster is ready to use, follows the wall clock and has no topics. It has no goroutine: whatever a call causes has
// happened when it returns, and what is due with time happens at the next call. With Start set the clock is virtual, and a program
// of one goroutine is deterministic. The fields are set before the first use; the methods may be called at once.
type Cluster struct {
	// AutoCreate is the number of partitions that a topic gets which is used before it was made. Default 0: a missing topic is an error.
	AutoCreate int
	// Configs are settings of topics where whoever makes one does not say otherwise. Default: Kafka's defaults.
	Configs map[string]string
	// Start is where the virtual clock starts; Advance moves it and nothing else does. Default zero: the wall clock.
	Start time.Time
	// Poison overwrites a batch's bytes when it is released, so that whoever keeps them is found by a test. It costs a copy.
	Poison bool
	// Judge decides what becomes of each request, for tests of the engine. Default nil: everything passes.
	Judge faults.Judge

	mu sync.Mutex
	b  *broker // what the cluster is; created on first use, touched with mu held
}

// Connect is for the engine. app is used for names only: Judge is told it.
func (c *Cluster) Connect(ctx context.Context, app string) (wire.Log, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &conn{c: c, name: app}, nil
}

// Now is the cluster's clock.
func (c *Cluster) Now() time.Time {
	b := c.enter()
	defer c.leave()
	return b.now
}

// Advance moves the virtual clock. What becomes due on the way happens in its order and at its time: transactions that expire,
// members that are given up. It panics without Start, because the wall clock cannot be moved.
func (c *Cluster) Advance(by time.Duration) {
	if c.Start.IsZero() {
		panic("memory: Advance needs a Cluster with Start")
	}
	b := c.enter()
	target := b.now.Add(by)
	b.beat()
	for !b.due.IsZero() && !b.due.After(target) {
		b.now = b.due
		b.expire()
		c.leave() // rounds of groups that lost a member are run here
		b = c.enter()
	}
	b.now = target
	b.wake()
	c.leave()
}

// enter locks the cluster and brings it up to date. leave must follow.
func (c *Cluster) enter() *broker {
	c.mu.Lock()
	if c.b == nil {
		c.b = newBroker(c)
	}
	c.b.tick()
	return c.b
}

// leave unlocks the cluster and runs the rebalances that have become necessary.
func (c *Cluster) leave() {
	dirty := c.b.dirty
	c.b.dirty = nil
	c.mu.Unlock()
	for _, g := range dirty {
		c.rebalance(g)
	}
}
