package memory

import (
	"context"
	"errors"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// A conn is one client's connection. It implements wire.Log: admin.go, offsets.go, reader.go, writer.go, transactions.go and
// membership.go have the rest of it.
type conn struct {
	c      *Cluster
	name   string
	dead   bool // closed or killed; guarded by c.mu, as is what follows
	frozen bool
	parted bool // nothing comes from the cluster
	unsaid bool // nor gets to it
	joined []*membership

	unanswered map[string]wire.Identity // who sent the last plain commit without an answer, by group; guarded by c.mu
}

var _ wire.Log = (*conn)(nil)

// tries is how often a request without an answer is sent again before the caller hears of it.
const tries = 8

// longWait bounds waiting for a change, so that what is due by the wall clock is noticed.
const longWait = time.Second

// call sends a request that has no answer but whether it succeeded.
func (cn *conn) call(ctx context.Context, r faults.Request, op func(b *broker) error) error {
	return cn.send(ctx, r, func(b *broker, _ bool) error { return op(b) })
}

// ask sends a request that has an answer. A repeat that is done late has one too, which reaches nobody.
func ask[T any](ctx context.Context, cn *conn, r faults.Request, op func(b *broker) (T, error)) (T, error) {
	var answer, none T
	err := cn.send(ctx, r, func(b *broker, late bool) error {
		got, err := op(b)
		if err == nil && !late {
			answer = got
		}
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

// atOnce is no context: whoever passes it does not wait.
var atOnce context.Context

// send sends a request until it has an answer. While the answer is errPending it asks again, which lets delayed requests and markers
// come to pass; when nothing is delayed it waits until ctx ends. atOnce does not wait.
func (cn *conn) send(ctx context.Context, r faults.Request, op func(b *broker, late bool) error) error {
	return cn.sendOrLose(ctx, r, op, func() {})
}

// sendOrLose is send for a request of which it matters whether an answer was lost. onLost is called with the cluster locked.
func (cn *conn) sendOrLose(ctx context.Context, r faults.Request, op func(b *broker, late bool) error, onLost func()) error {
	for lost := 0; ; {
		b := cn.enter(r)
		err := b.request(cn, r, func(late bool) error { return op(b, late) })
		if errors.Is(err, faults.ErrLost) {
			onLost()
		}
		var change <-chan struct{}
		if errors.Is(err, errPending) && len(b.later) == 0 {
			change = b.change()
		}
		cn.c.leave()
		switch {
		case errors.Is(err, faults.ErrLost):
			if lost++; lost == tries {
				return err
			}
		case !errors.Is(err, errPending):
			return err
		case change != nil && ctx == atOnce:
			return err
		case ctx != atOnce && ctx.Err() != nil:
			return ctx.Err()
		case change != nil:
			if err := wait(ctx, change); err != nil {
				return err
			}
		}
	}
}

// enter locks the cluster for a request, when a witness has seen it.
func (cn *conn) enter(r faults.Request) *broker {
	if w, ok := cn.c.Judge.(faults.Witness); ok {
		r.Client = cn.name
		w.Witness(r)
	}
	return cn.c.enter()
}

// wait returns at a change, after longWait, or with ctx's error.
func wait(ctx context.Context, change <-chan struct{}) error {
	timer := time.NewTimer(longWait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-change:
	case <-timer.C:
	}
	return nil
}

// Now is the cluster's clock.
func (cn *conn) Now() time.Time { return cn.c.Now() }

// ClusterID is the same for every memory cluster, so that a topology's stored state fits the next run of a test.
func (cn *conn) ClusterID() string { return "memory" }

// Close ends the connection as the death of its process would: memberships fall silent, transactions stay open until they expire or
// are fenced.
func (cn *conn) Close() error {
	b := cn.c.enter()
	defer cn.c.leave()
	b.kill(cn)
	return nil
}

// Freeze stops the connection's heartbeats, as if its process were suspended; Thaw lets them go on. They are for tests, which find
// them by an interface.
func (cn *conn) Freeze() { cn.freeze(true) }

// Thaw is described at Freeze.
func (cn *conn) Thaw() { cn.freeze(false) }

func (cn *conn) freeze(frozen bool) {
	b := cn.c.enter()
	defer cn.c.leave()
	b.beat()
	for _, m := range cn.joined {
		m.was = m.identity()
	}
	cn.frozen = frozen
	b.beat()
	for _, m := range cn.joined {
		m.rejoin(b)
	}
}

// kill ends a connection from the cluster's side.
func (b *broker) kill(cn *conn) {
	cn.dead = true
	b.beat()
	b.wake()
}
