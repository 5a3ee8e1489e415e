package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// The ends of event time in a Status.
const (
	NoTime  = math.MinInt64
	AllTime = math.MaxInt64
)

// An App runs a plan once. Its methods may be called from any goroutine.
type App struct {
	plan   *Plan
	config *Config
	log    *slog.Logger

	counters counters
	restores restores
	warnings warnings
	gate     gate

	ran   atomic.Bool
	ready chan struct{}
	done  chan struct{}
	asked *asked

	mu struct {
		sync.Mutex
		state   string
		session *session
		ready   bool
		err     error
		waits   error // what cannot be reached since the last checkpoint
	}
}

// New prepares an app. It does nothing before Run.
func New(p *Plan, c *Config) *App {
	a := &App{plan: p, config: c, log: c.Logger.With("app", p.App), ready: make(chan struct{}), done: make(chan struct{}), asked: newAsked()}
	a.mu.state = "new"
	return a
}

// Run is stream.App's.
func (a *App) Run(ctx context.Context) error {
	if a.ran.Swap(true) {
		return errors.New("an App runs once: Build another")
	}
	defer close(a.done)
	err := a.run(ctx)
	a.setState("stopped", nil)
	if err != nil {
		a.setState("failed", err)
	}
	return err
}

// run opens what outlives a session, and has session after session until one ends for good.
func (a *App) run(ctx context.Context) (err error) {
	a.setState("starting", nil)
	ctx, end := a.asked.follow(ctx)
	defer end()
	base, err := a.open(ctx)
	if err != nil {
		return a.asked.instead(err)
	}
	defer func() {
		a.gate.open(nil)
		base.stay = a.asked.stay.Load()
		err = errors.Join(err, base.close())
	}()
	begun := false
	for tries, away, fenced := 0, 0, 0; ; { // since a session got on
		s, err := newSession(ctx, a, base, true)
		opened := err == nil
		if opened {
			begun = true
			a.attach(s)
			a.setReady()
			since := time.Now()
			err = s.run(ctx, a.asked.forDrain())
			a.gate.open(nil)
			if s.moved || time.Since(since) > wellAfter {
				tries, away, fenced = 0, 0, 0
			}
			if s.changed != nil { // what the seat was taken for is no longer what there is
				err = errors.Join(err, base.stand(false))
			}
		}
		if errors.Is(err, wire.ErrFenced) && !(opened && s.outlived(time.Now())) {
			if fenced++; fenced > 1 || !Recoverable(err) { // the group gave the seat to the other one
				return fmt.Errorf("%w: another process uses instance id %q of app %s: give each process an Instance, or a StateDir, of its own: %w",
					ErrFenced, base.instance, a.plan.App, err)
			}
		}
		gone := begun && unreachable(err) // else the first start says so, and ends
		if !gone && !Recoverable(err) || ctx.Err() != nil {
			if !opened {
				err = a.asked.instead(err)
			}
			return err
		}
		if gone {
			away++ // for as long as it takes
			a.waits(err)
		} else if tries++; tries > maxTries {
			return fmt.Errorf("gave up after %d attempts to recover: %w", maxTries, err)
		}
		a.log.Warn("recovering from the last commit", "error", err, "attempt", tries+away)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(time.Duration(tries+away)*100*time.Millisecond, 5*time.Second)):
		}
	}
}

// maxTries is how often in a row an app recovers before it gives up: what fails the same way every time is an error, not a loop. Its inputs must have been
// committed further on in between, or it has run for wellAfter: checkpoints with nothing in them often come before what fails is
// read again. What cannot be reached is waited for.
const (
	maxTries  = 10
	wellAfter = time.Minute
)

// waits notes for Status what a recovery waits for, until a checkpoint shows that it is there again.
func (a *App) waits(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.waits = err
}

// Ready is closed when every task assigned at first has its state.
func (a *App) Ready() <-chan struct{} { return a.ready }

func (a *App) setReady() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.mu.ready {
		a.mu.ready = true
		close(a.ready)
	}
}

func (a *App) setState(state string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.state, a.mu.err = state, err
}

// attach makes a session the one that is asked. The gate waits for the queries that are inside, and they ask for the state: it is opened
// without holding that.
func (a *App) attach(s *session) {
	a.mu.Lock()
	a.mu.session, a.mu.state = s, "running"
	a.mu.Unlock()
	a.gate.open(s)
}

// A Status is stream.Status.
type Status struct {
	State      string
	Guarantee  string
	Checkpoint uint64
	Paused     error
	Warnings   []string
	Changelogs map[string]string
	Tasks      []TaskStatus
	Standbys   []StandbyStatus
}

// A TaskStatus is stream.TaskStatus.
type TaskStatus struct {
	Task      string
	State     string
	Lag       int64
	Processed int64
	Watermark int64
	HeldBy    string
	WaitsFor  string
	Restored  float64
	Outbox    int64
	// RestoreLeft is how long the rest of a restore will take.
	RestoreLeft time.Duration
}

// Status is stream.App's.
func (a *App) Status() Status {
	a.mu.Lock()
	s, state, waits := a.mu.session, a.mu.state, a.mu.waits
	a.mu.Unlock()
	st := Status{}
	if s != nil {
		st = s.status()
	}
	st.State, st.Paused = state, errors.Join(waits, st.Paused)
	a.restores.show(&st)
	return st
}
