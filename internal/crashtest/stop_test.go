package crashtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/stream"
)

// TestLastCommitFails has the commit that ends an app be refused. Who waits for the end gets it: the app does not go on as if nobody had asked,
// and nothing is lost. A Drain goes on, for what it moves must have left.
func TestLastCommitFails(t *testing.T) {
	for how, fails := range map[stream.StopMode]bool{stream.Handover: true, stream.Stay: true, stream.Drain: false} {
		var refuse atomic.Bool
		c := &memory.Cluster{Judge: faults.JudgeFunc(func(r faults.Request) (f faults.Fate) {
			if r.Kind == faults.TxnOffsets && refuse.Swap(false) {
				f.Refuse = wire.ErrRefused
			}
			return f
		})}
		inAndOut(t, c, partitions)
		build := func(b *stream.Builder) { pass(b, nil) }
		app, ended := runs(t, c, build, func(config *stream.Config) {
			config.CheckpointInterval, config.TransactionTimeout = 5*time.Minute, 15*time.Minute
		})
		until(t, "all tasks run", func() bool { return len(app.Status().Tasks) == partitions })
		appendTo(t, c, 0)
		until(t, "the record is processed", func() bool { return app.Status().Tasks[0].Processed == 1 })
		refuse.Store(true)
		if err := app.Stop(t.Context(), how); errors.Is(err, wire.ErrRefused) != fails || !fails && err != nil {
			t.Errorf("%v: got %v", how, err)
		}
		<-ended
		app, ended = runs(t, c, build, func(*stream.Config) {})
		until(t, "all tasks run again", func() bool { return len(app.Status().Tasks) == partitions })
		until(t, "the record is committed", func() bool { return c.Committed("app")[wire.TopicPartition{Topic: "in"}].Offset == 1 })
		if err := errors.Join(app.Stop(t.Context(), stream.Handover), <-ended); err != nil {
			t.Error(err)
		}
		if got := len(outputs(t, c)); got != 1 {
			t.Errorf("%v: %d records in the output", how, got)
		}
	}
}

// An app that waits for its cluster stops when it is asked to.
func TestStopBeforeTheStart(t *testing.T) {
	for _, how := range []stream.StopMode{stream.Handover, stream.Stay} {
		app, ended := waiting(t, func(app *stream.App) error { return app.Run(context.Background()) })
		if err := errors.Join(app.Stop(t.Context(), how), <-ended); err != nil {
			t.Errorf("%v: %v", how, err)
		}
	}
}
