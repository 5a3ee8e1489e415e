package stream

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/weirstream/weir/internal/engine"
)

// RunUntilSignal is Run until the process is told to end, by SIGTERM or an interrupt: then the app stops as by Stop with how. It returns what Run
// returns, and nil when the signal came before the app had begun. Handover suits most deployments; Stay a restart in place within the
// session timeout; Drain a deployment that changes exchanges or partitions, or removes a sink that has an outbox.
//
// While a Drain or Stay is under way a second signal stops the app at once, as the end of Run's context does; the signal after that does what
// it does in any program. Several apps of one process may wait for the same signal.
func (a *App) RunUntilSignal(ctx context.Context, how StopMode) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	came := make(chan os.Signal, 2)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM)
	told := make(chan bool)
	go func() { told <- a.follow(ctx, cancel, came, how) }()
	err := a.Run(ctx)
	cancel()
	if <-told && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// follow stops the app at a signal, and reports whether one came.
func (a *App) follow(ctx context.Context, cancel func(), came chan os.Signal, how StopMode) bool {
	defer signal.Stop(came)
	select {
	case <-came:
	case <-ctx.Done():
		return false
	}
	if how != Handover {
		a.e.AskToStop(engine.StopMode(how))
		select {
		case <-came:
		case <-ctx.Done():
		}
	}
	cancel()
	return true
}
