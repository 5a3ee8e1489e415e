package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/state"
)

// named gives an error of Pebble the name that package state has for it.
func named(err error) error {
	switch {
	case err == nil, errors.Is(err, state.ErrCorrupt), errors.Is(err, state.ErrDiskFull):
		return err
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
	case vfs.IsNoSpaceError(err):
		return fmt.Errorf("%w: %w", state.ErrDiskFull, err)
	case errors.Is(err, pebble.ErrClosed):
		return state.ErrClosed
	}
	return err
}

// A health knows what went wrong where nobody could return an error, and how long writes had to wait.
// It is Pebble's logger and hears its events.
type health struct {
	log    *slog.Logger
	failed chan struct{} // closed by the first failure
	parked atomic.Bool   // a goroutine of Pebble stays where it is, perhaps with locks

	mu struct {
		sync.Mutex
		err        error
		stalled    time.Time // since when; zero: not now
		stalls     int64
		stallTimes time.Duration
	}
}

func newHealth(log *slog.Logger) *health {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &health{log: log, failed: make(chan struct{})}
}

func (h *health) err() error {
	select {
	case <-h.failed:
	default:
		return nil // the common case, without the lock
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.err
}

// close lets every further call return err. Only the first one counts.
func (h *health) close(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.err == nil {
		h.mu.err = err
		close(h.failed)
	}
}

func (h *health) events() pebble.EventListener {
	return pebble.EventListener{
		BackgroundError: h.background,
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			h.close(fmt.Errorf("%w: %s: %w", state.ErrCorrupt, info.Path, info.Details))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) { h.stall(true, info.Reason) },
		WriteStallEnd:   func() { h.stall(false, "") },
	}
}

// background hears of flushes and compactions that failed. Pebble tries them again at once and for ever; those that
// another try will not mend end here. A full disk has mostly ended the database before: what diskFS sees of it Pebble does not get to tell.
func (h *health) background(err error) {
	err = named(err)
	h.log.Error("state: writing in the background failed", "error", err)
	if errors.Is(err, state.ErrCorrupt) || errors.Is(err, state.ErrDiskFull) {
		h.close(err)
	}
}

func (h *health) stall(begin bool, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if begin {
		h.mu.stalled = time.Now()
		h.mu.stalls++
		h.log.Warn("state: writes wait for the disk", "reason", why)
		return
	}
	h.mu.stallTimes += time.Since(h.mu.stalled)
	h.mu.stalled = time.Time{}
}

func (h *health) stalls() state.Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := state.Stats{Stalled: !h.mu.stalled.IsZero(), Stalls: h.mu.stalls, StallTime: h.mu.stallTimes}
	if s.Stalled {
		s.StallTime += time.Since(h.mu.stalled)
	}
	return s
}

// Infof is Pebble's account of what it does, which is of use to those who look for it.
func (h *health) Infof(format string, args ...any) {
	if h.log.Enabled(context.Background(), slog.LevelDebug) {
		h.log.Debug(fmt.Sprintf(format, args...))
	}
}

// Errorf hears of errors that Pebble dealt with.
func (h *health) Errorf(format string, args ...any) { h.log.Warn(fmt.Sprintf(format, args...)) }

// Fatalf hears of errors behind which Pebble must not go on, a manifest that could not be written for one. It is not
// a library's to end the process: the failure is kept for the calls that follow, and this goroutine stays here,
// with what locks it has.
func (h *health) Fatalf(format string, args ...any) {
	h.park(fatal(format, args))
}

// park keeps a failure and never returns.
func (h *health) park(err error) {
	h.parked.Store(true)
	h.close(err)
	select {}
}

func fatal(format string, args []any) error {
	text := fmt.Sprintf(format, args...)
	for _, a := range args {
		if err, ok := a.(error); ok {
			if n := named(err); n != err {
				return fmt.Errorf("%w (%s)", n, text)
			}
			return fmt.Errorf("state: %s: %w", text, err)
		}
	}
	return fmt.Errorf("state: %s", text)
}
