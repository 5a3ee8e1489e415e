package engine

import (
	"context"
	"errors"
	"sync/atomic"
)

// StopMode is stream.StopMode.
type StopMode int

// In the order of stream's.
const (
	Handover StopMode = iota
	Stay
	Drain
)

// An asked is what the app was asked for about its end. It is kept over sessions: one that fails while it stops must not leave behind an app
// that nobody stops any more.
type asked struct {
	stop  context.Context // ends when the app is to stop
	end   context.CancelFunc
	stay  atomic.Bool
	drain atomic.Bool
	more  chan struct{} // a token while the session has not heard of drain
}

func newAsked() *asked {
	a := &asked{more: make(chan struct{}, 1)}
	a.stop, a.end = context.WithCancel(context.Background())
	return a
}

// follow returns a context that ends with ctx and when the app is asked to stop: whatever the app waits for, a broker that is down or an
// assignment, it stops.
func (a *asked) follow(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(a.stop, cancel)
	return ctx, func() {
		forget()
		cancel()
	}
}

// instead is nil for the error of a start that was given up because the app was asked to stop, or that would have been waited for.
func (a *asked) instead(err error) error {
	if a.stop.Err() != nil && (errors.Is(err, context.Canceled) || unreachable(err)) {
		return nil
	}
	return err
}

// forDrain tells a session to drain, also one that follows a session that could not finish it.
func (a *asked) forDrain() <-chan struct{} {
	if a.drain.Load() {
		a.tell()
	}
	return a.more
}

func (a *asked) tell() {
	select {
	case a.more <- struct{}{}:
	default: // it has not heard of the one before
	}
}

// Stop is stream.App's.
func (a *App) Stop(ctx context.Context, how StopMode) error {
	if !a.ran.Load() {
		return errors.New("the app does not run")
	}
	a.AskToStop(how)
	select {
	case <-a.done:
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.mu.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// AskToStop is Stop without waiting. Handover and Stay also end a Drain that is under way, and an app that has not begun.
func (a *App) AskToStop(how StopMode) {
	if how == Drain {
		a.asked.drain.Store(true)
		a.asked.tell()
		return
	}
	a.asked.stay.Store(how == Stay)
	a.asked.end()
}
