package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/relay"
	"github.com/weirstream/weir/internal/wire"
)

// farClusters are the clusters other than the app's that sinks with an outbox write to, and those outboxes. They outlive a session.
type farClusters struct {
	mu       sync.Mutex
	clusters map[connector.Cluster]*relay.Far
	outboxes map[string]*relay.Outbox
	kept     map[string]map[string][]byte // what the tasks topic says of far topics, by outbox, before the outbox is made
}

// outbox is the one of a topic, on the cluster that env names.
func (f *farClusters) outbox(topic string, env connector.Env) *relay.Outbox {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.outboxes[topic]; o != nil {
		return o
	}
	if f.clusters == nil {
		f.clusters, f.outboxes = map[connector.Cluster]*relay.Far{}, map[string]*relay.Outbox{}
	}
	far := f.clusters[env.Cluster]
	if far == nil {
		far = relay.NewFar(func(ctx context.Context) (wire.Log, error) { return env.Cluster.Connect(ctx, env.App) })
		if env.Log != nil {
			far = relay.LentFar(env.Log)
		}
		f.clusters[env.Cluster] = far
	}
	o := relay.NewOutbox(topic, far)
	for name, facts := range f.kept[topic] {
		o.Learn(name, facts)
	}
	f.outboxes[topic] = o
	return o
}

// farPrefix is how the keys of what is kept of far topics begin in the tasks topic; the outbox's topic and the far one follow.
const farPrefix = "\x00far\x00"

// learn takes what the tasks topic says.
func (f *farClusters) learn(of string, facts []byte) {
	outbox, topic, _ := strings.Cut(of, "\x00")
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.outboxes[outbox]; o != nil {
		o.Learn(topic, facts)
		return
	}
	if f.kept == nil {
		f.kept = map[string]map[string][]byte{}
	}
	if f.kept[outbox] == nil {
		f.kept[outbox] = map[string][]byte{}
	}
	f.kept[outbox][topic] = slices.Clone(facts)
}

func (f *farClusters) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, far := range f.clusters {
		errs = append(errs, far.Close())
	}
	return errors.Join(errs...)
}

// outbox gives a sink of the task being made its way to another cluster: the appender of an outbox, and what carries it.
func (s *session) outbox(r *runner, node string, env connector.Env) (connector.Env, error) {
	topic := s.plan.outboxTopic(node)
	if env.Log == s.base.log {
		env.Log = nil // that is the app's cluster
	}
	o := s.base.far.outbox(topic, env)
	near, err := r.env.Appender.To(r.env.Context, topic)
	if err != nil {
		return env, &errRecover{fmt.Errorf("outbox %s: %w", topic, err)}
	}
	p := int32(r.env.Task.Partition)
	env.Log = o.SinkLog(s.base.log)
	env.Appender = o.Appender(near, p, func(name string, facts []byte) { s.keepFar(r, topic+"\x00"+name, facts) })
	r.carriers = append(r.carriers, &carrier{s: s, sub: r.sub, name: fmt.Sprintf("outbox %s/%d", topic, p), r: relay.New(relay.Config{
		App: s.plan.App, Outbox: o, TopicID: s.topics[topic].ID, Partition: p, Partitions: int32(s.counts[r.sub]),
		Near: s.base.log, Timeout: s.config.TransactionTimeout, Logger: s.app.log,
	})})
	return env, nil
}

// keepFar notes in the tasks topic what a far topic is like, for starts while its cluster is down. It is not needed for what is right.
func (s *session) keepFar(r *runner, of string, facts []byte) {
	out, err := r.env.Appender.To(r.env.Context, s.plan.tasksTopic())
	if err != nil {
		return
	}
	out.Append(0, s.now(), []byte(farPrefix+of), facts, nil)
}

// A carrier runs one relay beside its task.
type carrier struct {
	s    *session
	sub  *Sub
	name string
	r    *relay.Relay
	over atomic.Bool // it has too much to carry
}

// A relay that was fenced leaves the one that did it time to work: it may not know yet that its task has gone.
const fencedWait = time.Second

// run carries until ctx ends. What it has begun it may finish for a moment longer, so that no reader of the far cluster waits.
func (c *carrier) run(ctx context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(carryOn, cancel) })()
	for backoff := time.Duration(0); ctx.Err() == nil; {
		_, err := c.step(work, ctx)
		if err == nil {
			c.s.resume(c.name)
			backoff = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if err := relayError(err); !Recoverable(err) {
			c.s.post(event{failed: err})
			return
		}
		c.s.pause(c.name, err)
		backoff = min(max(2*backoff, 50*time.Millisecond), 5*time.Second)
		if errors.Is(err, wire.ErrFenced) {
			backoff = max(backoff, fencedWait)
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff):
		}
	}
}

// step carries a batch.
func (c *carrier) step(ctx, read context.Context) (bool, error) {
	moved, err := c.r.Step(ctx, read)
	c.judge()
	return moved, err
}

// carryOn is how long a relay goes on with what it has begun when it is to end.
const carryOn = 2 * time.Second

// relayError gives errors that waiting does not mend the names of their kind; all others can be recovered from.
func relayError(err error) error {
	switch {
	case errors.Is(err, relay.ErrGone):
		return fmt.Errorf("%w: %w", ErrPositionLost, err)
	case errors.Is(err, relay.ErrPlace):
		return fmt.Errorf("%w: %w", ErrTopic, err)
	}
	return &errRecover{err}
}

// judge shuts or opens the gate of the tasks that fill the outbox.
func (c *carrier) judge() {
	over := c.r.Lag() > c.s.config.OutboxRecords
	if c.over.Swap(over) == over {
		return
	}
	if over {
		c.s.over[c.sub].Add(1)
		return
	}
	c.s.over[c.sub].Add(-1)
	c.s.post(event{wakeAll: true})
}

func (c *carrier) close() {
	c.r.Close()
	if c.over.Swap(false) {
		c.s.over[c.sub].Add(-1)
	}
}

// tellRelays says how far outboxes are committed.
func tellRelays(cp *checkpoint, ends map[wire.TopicPartition]int64) {
	for _, part := range cp.parts {
		for _, c := range part.r.carriers {
			if end, ok := ends[c.r.Reads()]; ok {
				c.r.Wrote(end)
				c.judge()
			}
		}
	}
}

// gates are those that a task of a sub-topology has to watch: its own, and those of all that it feeds in this process.
func (s *session) gates(sub *Sub) (all []*atomic.Int32) {
	seen := map[*Sub]bool{}
	var visit func(*Sub)
	visit = func(sub *Sub) {
		if seen[sub] {
			return
		}
		seen[sub] = true
		if len(sub.Outboxes) > 0 {
			all = append(all, s.over[sub])
		}
		for _, x := range sub.Out {
			if s.config.local(x) {
				visit(x.To)
			}
		}
	}
	visit(sub)
	return all
}

// shut reports whether an outbox that the task fills, itself or through others, holds too much.
func (r *runner) shut() bool {
	return slices.ContainsFunc(r.gates, func(n *atomic.Int32) bool { return n.Load() > 0 })
}

// outboxed is how much of the task's outboxes is committed and not carried.
func (r *runner) outboxed() (n int64) {
	for _, c := range r.carriers {
		n += c.r.Lag()
	}
	return n
}

// carries reports whether the session has an outbox.
func (s *session) carries() bool {
	return slices.ContainsFunc(s.plan.Subs, func(sub *Sub) bool { return len(sub.Outboxes) > 0 })
}

// carryRest waits until what is committed has left the outboxes, as long as that goes well: what stays is carried by the next owner.
func (s *session) carryRest(deadline <-chan time.Time) {
	if !s.threaded || !s.carries() {
		return
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		waits := slices.ContainsFunc(s.runners, func(r *runner) bool {
			return slices.ContainsFunc(r.carriers, func(c *carrier) bool { return c.r.Lag() > 0 && !c.r.Failing() })
		})
		if !waits {
			return
		}
		select {
		case <-deadline:
			return
		case <-ticker.C:
		}
	}
}
