package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A process is one after the other under the same name.
type process struct {
	w    *world
	name string
	disk *disk
	d    *engine.Driver // nil while it is down
	conn wire.Log
	far  wire.Log // to the second cluster

	through func(wire.Log) wire.Log // what conn is led through; nil leaves it as it is

	busy   bool   // at a step
	asks   func() // has its group hold a round, which it has asked for
	frozen int    // steps that it still does not do, because it is suspended
	down   int    // steps until it starts again
}

// session is how long a silent process keeps its seat.
const session = 15 * time.Second

// step does a bit of work and takes a checkpoint. What fails is recovered from; it reports whether nothing did.
func (p *process) step() bool { return p.does((*engine.Driver).Checkpoint) }

// work is step without the checkpoint.
func (p *process) work() bool { return p.does((*engine.Driver).Poll) }

// ragged is step with a barrier that comes to tasks one by one: they take their turns in no order, some twice and some not before the others are
// done, and records come in between.
func (p *process) ragged() bool {
	return p.does(func(d *engine.Driver) error {
		err := d.Poll()
		if err == nil {
			err = d.Begin()
		}
		names := p.running()
		for i := 0; i < len(names) && err == nil; i++ {
			if err = p.w.put(p.w.rand.IntN(3)); err == nil {
				err = p.turn(d, names[p.w.rand.IntN(len(names))])
			}
		}
		if err != nil {
			return err
		}
		return d.End()
	})
}

// turn is a task's, and counts what it does behind the barrier that others have still before them.
func (p *process) turn(d *engine.Driver, task string) error {
	before := p.processed(task)
	err := d.Turn(task)
	p.w.between += p.processed(task) - before
	return err
}

func (p *process) processed(task string) (n int64) {
	for _, st := range p.d.Status().Tasks {
		if st.Task == task {
			n += st.Processed
		}
	}
	return n
}

func (p *process) does(what func(*engine.Driver) error) bool {
	if p.frozen > 0 || p.down > 0 {
		p.frozen, p.down = max(0, p.frozen-1), max(0, p.down-1)
		if p.frozen == 0 {
			p.wake()
		}
		return false
	}
	p.busy = true
	defer func() { p.busy = false }()
	if p.asks != nil && p.w.rand.IntN(4) == 0 {
		ask := p.asks
		p.asks = nil
		ask()
	}
	if p.d == nil {
		if err := p.start(); err != nil {
			p.w.why = append(p.w.why, fmt.Errorf("%s starts: %w", p.name, err))
			p.w.advance(session + time.Second) // who is dead is given up meanwhile
			return false
		}
	}
	err := what(p.d)
	if err != nil {
		p.recover(err)
	}
	return err == nil
}

// start is what a new process does.
func (p *process) start() error {
	b := stream.New("app")
	p.w.s.build(b, p.w)
	config := stream.Config{
		Cluster: tap{p.w.c, p}, Exchange: stream.Local, Instance: p.name, State: state.InMemory(),
		SessionTimeout: session, TransactionTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
	}
	if p.w.s.disk {
		config.State = p.disk
	}
	if p.w.s.config != nil {
		p.w.s.config(&config)
	}
	config.State = slow{config.State, p}
	compiled, err := b.Compile(config)
	if err != nil {
		return err
	}
	if err := p.redirect(compiled); err != nil {
		return err
	}
	d, err := engine.NewDriver(compiled.Plan, compiled.Config)
	if err != nil {
		d.Close()
		return err
	}
	p.d = d
	return nil
}

// redirect leads sinks on another cluster to the second one.
func (p *process) redirect(c *stream.Compiled) (err error) {
	if p.w.far == p.w.c {
		return nil
	}
	if p.far != nil {
		_ = p.far.Close()
	}
	if p.far, err = p.w.far.Connect(context.Background(), p.name); err != nil {
		return err
	}
	for _, e := range c.Ends() {
		if l, ok := e.Connector.(wire.InLog); ok && l.OnCluster() != nil {
			e.Redirect(func(env connector.Env) connector.Env {
				env.Cluster, env.Log = l.OnCluster().(connector.Cluster), p.far
				return env
			})
		}
	}
	return nil
}

// A tap is a cluster that tells a process its connection.
type tap struct {
	*memory.Cluster
	p *process
}

// Connect connects.
func (t tap) Connect(ctx context.Context, _ string) (wire.Log, error) {
	l, err := t.Cluster.Connect(ctx, t.p.name)
	t.p.conn = l
	switch {
	case err != nil:
		return nil, err
	case t.p.through != nil:
		return t.p.through(l), nil
	case t.p.w.s.late > 0:
		return joinedLog{l, t.p.sitsSlowly}, nil
	}
	return l, nil
}

// A joinedLog is a connection over which a process gets its seat in the group by way of sits.
type joinedLog struct {
	wire.Log
	sits func(m wire.Membership) wire.Membership
}

func (l joinedLog) Join(ctx context.Context, c wire.GroupConfig) (wire.Membership, error) {
	m, err := l.Log.Join(ctx, c)
	if err != nil {
		return nil, err
	}
	return l.sits(m), nil
}

func (p *process) sitsSlowly(m wire.Membership) wire.Membership {
	p.asks = nil
	return slowSeat{m, p}
}

// A slowSeat is in a group that takes its time for a round that the process asks for: what is fenced by it may come before.
type slowSeat struct {
	wire.Membership
	p *process
}

func (s slowSeat) Rejoin() { s.p.asks = s.Membership.Rejoin }

// recover does what an app does: it goes on from the last commit, in the same process unless that was killed.
func (p *process) recover(err error) {
	p.w.why = append(p.w.why, fmt.Errorf("%s: %w", p.name, err))
	if !engine.Recoverable(err) && (errors.Is(err, engine.ErrPositionLost) || errors.Is(err, engine.ErrTopic) || errors.Is(err, engine.ErrTopology)) {
		p.w.fatal = append(p.w.fatal, p.w.why[len(p.w.why)-1])
	}
	if !errors.Is(err, faults.ErrKilled) {
		if err = p.d.Crash(); err == nil {
			return
		}
		p.w.why = append(p.w.why, fmt.Errorf("%s recovers: %w", p.name, err))
	}
	p.disk.killed()
	_ = p.conn.Close()
	if p.far != nil {
		_ = p.far.Close()
	}
	p.d.Close()
	p.d = nil
}

// stop is a clean end.
func (p *process) stop() error {
	d := p.d
	p.d = nil
	return d.Stop()
}

// disturb has the process freeze, stop or be killed, seldom.
func (p *process) disturb() {
	if p.d == nil || p.frozen > 0 {
		return
	}
	switch p.w.rand.IntN(40) {
	case 0, 1: // longer than a session lasts, when others keep the time going
		p.each(func(l wire.Log) { l.(interface{ Freeze() }).Freeze() })
		p.frozen = 1 + p.w.rand.IntN(12)
	case 2, 3:
		p.down = p.w.rand.IntN(4)
		if err := p.stop(); err != nil {
			p.w.why = append(p.w.why, fmt.Errorf("%s stops: %w", p.name, err))
		}
	case 4:
		_ = p.conn.Close()
		p.down = p.w.rand.IntN(12)
		p.recover(faults.ErrKilled)
	}
}

// each is for its connections.
func (p *process) each(do func(wire.Log)) {
	do(p.conn)
	if p.far != nil {
		do(p.far)
	}
}

// wake ends what disturb has begun.
func (p *process) wake() {
	if p.conn != nil && p.d != nil {
		p.each(func(l wire.Log) { l.(interface{ Thaw() }).Thaw() })
	}
	p.frozen, p.down = 0, 0
}
