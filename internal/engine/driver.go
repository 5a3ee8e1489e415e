package engine

import (
	"context"
	"errors"
	"fmt"
)

// A Driver runs a plan without goroutines: when a call returns, everything it caused has happened. It is what streamtest is made
// of, and what seeded crashes are tested with. One goroutine uses it.
type Driver struct {
	app   *App
	base  *base
	s     *session
	ended context.Context // readers that get it return what is at hand
}

// NewDriver opens a plan and starts it from its last commit.
func NewDriver(p *Plan, c *Config) (*Driver, error) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	d := &Driver{app: New(p, c), ended: ended}
	return d, d.open()
}

func (d *Driver) open() (err error) {
	if d.base, err = d.app.open(context.Background()); err != nil {
		return err
	}
	return d.begin()
}

// begin starts a session from the last commit.
func (d *Driver) begin() (err error) {
	if d.s, err = newSession(context.Background(), d.app, d.base, false); err != nil {
		d.s = nil
		return err
	}
	d.app.attach(d.s)
	return d.Poll()
}

// Poll reads and processes until nothing is left to do.
func (d *Driver) Poll() error {
	if d.s == nil {
		return errors.New("the app has stopped")
	}
	for followed := d.s.standbys == nil; ; {
		busy := d.base.seat != nil && d.base.seat.poll()
		for _, f := range d.s.followers {
			got, err := f.poll()
			if err != nil {
				return fmt.Errorf("global table %s: %w", f.name, err)
			}
			busy = busy || got
		}
		for _, r := range d.s.runners {
			did, err := d.step(r)
			if err != nil {
				return err
			}
			busy = busy || did
		}
		for _, r := range d.s.runners { // what local exchanges delivered
			for r.turn() {
				busy = true
			}
		}
		if err := d.s.react(); err != nil {
			return err
		}
		if busy || !d.quiet() {
			continue
		}
		if followed {
			return nil
		}
		d.s.standbys.round(d.s.ctx) // it may ask for a round of the group
		followed = true
	}
}

// step has a task take what there is for it, and do it.
func (d *Driver) step(r *runner) (busy bool, err error) {
	for _, f := range r.feeds {
		got, err := f.poll(d.ended)
		if err != nil {
			return false, fmt.Errorf("source %s: %w", f.name, err)
		}
		busy = busy || got
	}
	for _, c := range r.carriers {
		got, err := c.step(context.Background(), d.ended)
		if err != nil {
			return false, relayError(err)
		}
		busy = busy || got
	}
	for r.turn() {
		busy = true
	}
	return busy, nil
}

// quiet reports whether no mailbox and no event waits.
func (d *Driver) quiet() bool {
	for _, r := range d.s.runners {
		if !r.box.empty() {
			return false
		}
	}
	return d.s.events.empty()
}

// Checkpoint takes one, and everything that follows from it.
func (d *Driver) Checkpoint() error {
	if err := d.Poll(); err != nil {
		return err
	}
	d.s.begin()
	return d.End()
}

// End has every task pass the barrier that Begin has sent, and what follows from it happen.
func (d *Driver) End() error {
	if err := d.Poll(); err != nil {
		return err
	}
	if cp := d.s.inflight; cp != nil {
		return fmt.Errorf("checkpoint %d did not end: %d tasks have not passed its barrier", cp.n, len(cp.wait))
	}
	return nil
}

// Begin sends the barrier of a checkpoint to every task. Turn and End have tasks pass it.
func (d *Driver) Begin() error {
	if d.s == nil {
		return errors.New("the app has stopped")
	}
	d.s.begin()
	return nil
}

// Turn has one task do all that there is for it while the others stand still. Poll gives every task its turn, upstream first.
func (d *Driver) Turn(task string) error {
	if d.s == nil {
		return errors.New("the app has stopped")
	}
	for _, r := range d.s.runners {
		if r.name != task {
			continue
		}
		for busy := true; busy; {
			var err error
			if busy, err = d.step(r); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("there is no task %s", task)
}

// Crash forgets everything that is not committed and starts again.
func (d *Driver) Crash() error {
	d.drop()
	return d.begin()
}

// drop ends the session without a checkpoint.
func (d *Driver) drop() {
	if d.s != nil {
		d.app.gate.open(nil)
		_ = d.s.close() // what a crash leaves behind is what recovery is for
		d.s = nil
	}
}

// Restart replaces the plan, as a new version of a program does. The driver was stopped, or is dropped.
func (d *Driver) Restart(p *Plan, c *Config) error {
	d.drop()
	if err := d.base.close(); err != nil {
		return err
	}
	d.app = New(p, c)
	return d.open()
}

// Promise tells every task that a source has nothing earlier than w any more, in any partition; [AllTime]: nothing at all.
// It is not part of the source: a crash forgets what no checkpoint has.
func (d *Driver) Promise(source string, w int64) error {
	if d.s == nil {
		return errors.New("the app has stopped")
	}
	for _, r := range d.s.runners {
		for _, src := range r.sub.Sources {
			if src.Name != source {
				continue
			}
			in := r.t.Inputs[src.Input].State()
			r.send(message{kind: aCall, do: func() {
				if w == AllTime {
					in.Finished = true
					return
				}
				in.Promise(w)
			}})
		}
	}
	return d.Poll()
}

// ClockDue is when the wall clock next has something to do, in ms.
func (d *Driver) ClockDue() int64 {
	due := int64(AllTime)
	if d.s != nil {
		for _, r := range d.s.runners {
			due = min(due, r.clockDue.Load())
		}
	}
	return due
}

// Stop takes a last checkpoint and closes everything.
func (d *Driver) Stop() error {
	var errs []error
	if d.s != nil {
		err := d.Poll()
		if err == nil {
			d.s.final = d.s.n + 1
			err = d.Checkpoint()
		}
		errs = append(errs, err)
		if d.s != nil {
			d.app.gate.open(nil)
			d.app.setState("stopped", nil)
			d.s.clean = errors.Join(errs...) == nil
			errs = append(errs, d.s.close())
			d.s = nil
		}
	}
	if d.base != nil {
		errs = append(errs, d.base.close())
		d.base = nil
	}
	return errors.Join(errs...)
}

// Close ends without a checkpoint, as a crash that nobody comes back from.
func (d *Driver) Close() {
	d.drop()
	if d.base != nil {
		_ = d.base.close()
		d.base = nil
	}
}

// Status is the app's.
func (d *Driver) Status() Status { return d.app.Status() }

// App is what queries ask. Crash keeps it, Restart makes another.
func (d *Driver) App() *App { return d.app }

// Counters are what was counted, by name{label,value,…}.
func (d *Driver) Counters() map[string]int64 { return d.app.counters.all() }
