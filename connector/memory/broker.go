package memory

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/weirstream/weir/internal/faults"
)

// A broker is the state of a cluster. Everything that hangs on it, topics, groups and transactions, is touched with the Cluster's
// mu held. Its methods are what requests do: they know nothing of clients, retries or waiting.
type broker struct {
	c   *Cluster
	now time.Time
	due time.Time // the next moment at which something expires; zero when nothing will

	topics map[string]*topic
	groups map[string]*group
	txns   map[string]*txn

	topicsMade int
	lastPID    int64
	lastMember int

	requests int     // that have come so far: the time by which delayed ones are done
	later    []later // delayed and repeated requests
	held     heldMarkers

	dirty   []*group      // need a rebalance
	changed chan struct{} // closed by wake; nil while nobody waits
}

// later is something to be done when enough requests have come.
type later struct {
	at int
	do func()
}

// errPending says that an answer depends on a transaction whose markers are not all written.
var errPending = errors.New("memory: a transaction is not complete")

func newBroker(c *Cluster) *broker {
	now := c.Start
	if now.IsZero() {
		now = time.Now()
	}
	return &broker{c: c, now: now, topics: map[string]*topic{}, groups: map[string]*group{}, txns: map[string]*txn{}}
}

// tick brings the clock up to date and does what has become due. The virtual clock stands still.
func (b *broker) tick() {
	if b.c.Start.IsZero() {
		b.now = time.Now()
	}
	if !b.due.IsZero() && !b.now.Before(b.due) {
		b.beat()
		b.expire()
	}
}

// dueAt sees to it that expire is called at t.
func (b *broker) dueAt(t time.Time) {
	if b.due.IsZero() || t.Before(b.due) {
		b.due = t
	}
}

// expire ends what has reached its time, in the order of names, and finds the next moment.
func (b *broker) expire() {
	b.due = time.Time{}
	for _, id := range slices.Sorted(maps.Keys(b.txns)) {
		if t := b.txns[id]; t.state == txOngoing {
			if end := t.started.Add(t.timeout); b.now.Before(end) {
				b.dueAt(end)
			} else {
				b.abort(t)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.groups)) {
		b.expireGroup(b.groups[name])
	}
	b.wake()
}

// advance lets time pass, and what is due in it happen at its time. Groups are rebalanced when the cluster is unlocked.
func (b *broker) advance(by time.Duration) {
	target := b.now.Add(by)
	b.beat()
	for !b.due.IsZero() && !b.due.After(target) {
		b.now = b.due
		b.expire()
	}
	b.now = target
	b.wake()
}

// wake lets those who wait look again.
func (b *broker) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// change is closed at the next wake.
func (b *broker) change() <-chan struct{} {
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// request lets op happen as its fate says. op must be good to run at any time, because a fate may delay or repeat it; late says that
// nobody waits for this one's answer.
func (b *broker) request(cn *conn, r faults.Request, op func(late bool) error) error {
	if cn.dead {
		return faults.ErrKilled
	}
	b.arrive()
	r.Client = cn.name
	f := b.judge(r)
	if cn.parted || f.Parted {
		cn.part(b, f)
	}
	if f.Pass > 0 && !b.c.Start.IsZero() {
		b.advance(f.Pass)
	}
	if f.Clean {
		b.retain()
		b.compact()
	}
	switch {
	case f.Kill:
		b.kill(cn)
		return faults.ErrKilled
	case f.Refuse != nil:
		return f.Refuse
	case f.Drop:
		return faults.ErrLost
	case f.After > 0:
		b.postpone(f.After, func() { _ = op(true) })
		return faults.ErrLost
	}
	err := op(false)
	if f.Again > 0 {
		b.postpone(f.Again, func() { _ = op(true) })
	}
	if f.KillDone {
		b.kill(cn)
	}
	if f.KillDone || f.Lose {
		return faults.ErrLost
	}
	return err
}

func (b *broker) judge(r faults.Request) faults.Fate {
	if b.c.Judge == nil {
		return faults.Fate{}
	}
	r.Time = b.now
	return b.c.Judge.Judge(r)
}

func (b *broker) postpone(by int, do func()) {
	b.later = append(b.later, later{b.requests + by, do})
}

// arrive counts a request and does the delayed ones whose turn has come, in the order in which they were delayed.
func (b *broker) arrive() {
	b.requests++
	if len(b.later) == 0 {
		return
	}
	var due []later
	b.later = slices.DeleteFunc(b.later, func(l later) bool {
		if l.at > b.requests {
			return false
		}
		due = append(due, l)
		return true
	})
	for _, l := range due {
		l.do()
	}
}

// Settle does everything that fates have delayed, writes the markers that are held back, and has everybody reach the cluster.
func (c *Cluster) Settle() {
	b := c.enter()
	defer c.leave()
	b.held.all, b.held.parts = false, nil
	b.mend()
	for len(b.later)+len(b.held.waiting) > 0 {
		due := b.later
		b.later = nil
		for _, write := range b.held.waiting {
			due = append(due, later{do: write})
		}
		b.held.waiting = nil
		for _, l := range due {
			l.do()
		}
	}
}
