package crashtest

import (
	"context"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/stream"
)

// TestSignals has one of two members told to end: with Handover the other one gets its tasks, with Stay it does not, and the same instance
// finds them again.
func TestSignals(t *testing.T) {
	for how, alone := range map[stream.StopMode]int{stream.Handover: partitions, stream.Drain: partitions, stream.Stay: partitions - 1} {
		c := &memory.Cluster{}
		inAndOut(t, c, partitions)
		member := func(instance string, run func(*stream.App) error) (*stream.App, chan error) {
			b := stream.New("app")
			pass(b, nil)
			app, err := b.Build(stream.Config{Cluster: c, Instance: instance, CheckpointInterval: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- run(app) }()
			return app, ended
		}
		ctx, cancel := context.WithCancel(context.Background())
		stays, staysEnds := member("stays", func(a *stream.App) error { return a.Run(ctx) })
		until(t, "the first has all tasks", func() bool { return len(stays.Status().Tasks) == partitions })
		told := func(a *stream.App) error { return a.RunUntilSignal(ctx, how) }
		goes, goesEnds := member("goes", told)
		until(t, "both have tasks", func() bool { return len(goes.Status().Tasks) == 1 && len(stays.Status().Tasks) == partitions-1 })
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := <-goesEnds; err != nil {
			t.Errorf("mode %d: Run: %v", how, err)
		}
		until(t, "the tasks are where they should be", func() bool { return len(stays.Status().Tasks) == alone })
		if how == stream.Stay {
			goes, goesEnds = member("goes", told)
			until(t, "its task is back", func() bool {
				if n := len(stays.Status().Tasks); n != alone {
					t.Errorf("the other has %d tasks meanwhile", n)
				}
				return len(goes.Status().Tasks) == 1
			})
		}
		cancel()
		if err := <-staysEnds; err != nil {
			t.Error(err)
		}
		if how == stream.Stay {
			if err := <-goesEnds; err != nil {
				t.Error(err)
			}
		}
	}
}

// A signal may come before the app has begun, or when it cannot begin.
func TestSignalBeforeTheStart(t *testing.T) {
	_, ended := waiting(t, func(app *stream.App) error { return app.RunUntilSignal(context.Background(), stream.Handover) })
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// waiting is an app that waits for its cluster, and what its run returns.
func waiting(t *testing.T, run func(*stream.App) error) (*stream.App, chan error) {
	t.Helper()
	b := stream.New("app")
	pass(b, nil)
	connecting := make(chan struct{})
	app, err := b.Build(stream.Config{Cluster: unreachable{&memory.Cluster{}, connecting}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run(app) }()
	<-connecting
	return app, ended
}

// An unreachable cluster is tried until the context ends.
type unreachable struct {
	*memory.Cluster
	connecting chan struct{}
}

func (u unreachable) Connect(ctx context.Context, _ string) (wire.Log, error) {
	close(u.connecting)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
