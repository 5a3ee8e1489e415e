package crashtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// A distant is a sink with two phases whose other side is away at times.
type distant struct {
	*memory.Collector[string, int64]
	away atomic.Pointer[func(ctx context.Context, step string) error]
}

// at asks whether a step succeeds.
func (d *distant) at(ctx context.Context, step string) error {
	if away := d.away.Load(); away != nil {
		return (*away)(ctx, step)
	}
	return nil
}

// OpenTx is connector.TwoPhaseSink's, and so are those below.
func (d *distant) OpenTx(ctx context.Context, env connector.Env, t connector.Task) (connector.TxWriter[string, int64], error) {
	w, err := d.Collector.OpenTx(ctx, env, t)
	return distantWriter{w, d}, err
}

func (d *distant) Commit(ctx context.Context, env connector.Env, h connector.Handle) error {
	if err := d.at(ctx, "commit"); err != nil {
		return err
	}
	return d.Collector.Commit(ctx, env, h)
}

func (d *distant) Recover(ctx context.Context, env connector.Env, t connector.Task, committed []connector.Handle) error {
	if err := d.at(ctx, "recover"); err != nil {
		return err
	}
	return d.Collector.Recover(ctx, env, t, committed)
}

type distantWriter struct {
	connector.TxWriter[string, int64]
	d *distant
}

func (w distantWriter) Prepare(ctx context.Context, n uint64) (connector.Handle, error) {
	if err := w.d.at(ctx, "prepare"); err != nil {
		return nil, err
	}
	return w.TxWriter.Prepare(ctx, n)
}

// counts are what has arrived there.
func (d *distant) counts() (all []int64) {
	for _, r := range d.Records() {
		all = append(all, r.Value)
	}
	return all
}

// countsInto runs an app that counts one key into a distant sink.
func countsInto(t *testing.T, c *memory.Cluster, d *distant) (app *stream.App, ended chan error) {
	t.Helper()
	return runs(t, c, func(b *stream.Builder) {
		b.Source(kafka.Source("in", serde.String, serde.String)).GroupByKey().Count(stream.OnUpdate).ToStream().To(d)
	}, func(*stream.Config) {})
}

// hasCounted is such an app that has counted a record.
func hasCounted(t *testing.T) (c *memory.Cluster, d *distant, app *stream.App, ended chan error) {
	t.Helper()
	c, d = &memory.Cluster{}, &distant{Collector: memory.Collect[string, int64]("outside")}
	inAndOut(t, c, 1)
	app, ended = countsInto(t, c, d)
	appendTo(t, c, 0)
	until(t, "the first count", func() bool { return len(d.Records()) == 1 })
	return c, d, app, ended
}

// gone is what some steps fail with until it is called off.
func (d *distant) gone(err error, steps ...string) (met *atomic.Int64) {
	met = &atomic.Int64{}
	away := func(_ context.Context, step string) error {
		if !slices.Contains(steps, step) {
			return nil
		}
		met.Add(1)
		return err
	}
	d.away.Store(&away)
	return met
}

// A sink outside that says that it cannot be reached is waited for, for longer than anything else is tried, in whichever step: Status names it, and nothing
// is lost or comes twice. A stop ends the wait, and what was prepared then is committed by the next process.
func TestSinkThatCannotBeReached(t *testing.T) {
	refused := fmt.Errorf("dial db:5432: %w: %w", connector.ErrUnreachable, errors.New("connection refused"))
	for _, steps := range [][]string{{"prepare"}, {"commit", "recover"}, {"prepare", "commit", "recover"}} {
		t.Run(strings.Join(steps, ","), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, d, app, ended := hasCounted(t)
				waited := func(met *atomic.Int64, times int64) {
					t.Helper()
					until(t, "it is waited for", func() bool {
						select {
						case err := <-ended:
							t.Fatalf("Run: %v, after %d calls", err, met.Load())
						default:
						}
						return met.Load() >= times
					})
					synctest.Wait() // until it waits for its next attempt
					err := app.Status().Paused
					if !errors.Is(err, connector.ErrUnreachable) || !strings.Contains(err.Error(), "outside") || !strings.Contains(err.Error(), "db:5432") {
						t.Errorf("Status: %v", err)
					}
				}
				met := d.gone(refused, steps...)
				appendTo(t, c, 0)
				waited(met, maxTries+5)
				d.away.Store(nil)
				until(t, "the second count", func() bool { return len(d.Records()) == 2 })
				until(t, "nothing is waited for", func() bool { return app.Status().Paused == nil })
				met = d.gone(refused, steps...)
				appendTo(t, c, 0)
				waited(met, 3)
				if err := errors.Join(app.Stop(t.Context(), stream.Handover), <-ended); err != nil {
					t.Errorf("it is stopped: %v", err)
				}
				d.away.Store(nil)
				app, ended = countsInto(t, c, d)
				until(t, "the third count", func() bool { return len(d.Records()) == 3 })
				if err := errors.Join(app.Stop(t.Context(), stream.Handover), <-ended); err != nil {
					t.Error(err)
				}
				if got := d.counts(); !slices.Equal(got, []int64{1, 2, 3}) || d.Prepared() > 0 {
					t.Errorf("the counts are %v, %d handles wait", got, d.Prepared())
				}
			})
		})
	}
}

// maxTries is how often anything else is tried.
const maxTries = 10

// What a sink says otherwise is tried ten times, and ends the app by name; what is lost does at once, reachable or not.
func TestSinkThatFails(t *testing.T) {
	denied := errors.New("permission denied")
	for name, test := range map[string]struct {
		err   error
		steps []string
		says  []string
		calls int64
	}{
		"prepare": {denied, []string{"prepare"}, []string{"gave up after 10 attempts", "in/0", "sink outside", "permission denied"}, maxTries + 1},
		"recover": {denied, []string{"commit", "recover"}, []string{"gave up after 10 attempts", "in/0", "outside", "permission denied"}, maxTries + 1},
		"lost":    {fmt.Errorf("%w: %w", connector.ErrUnreachable, connector.ErrLost), []string{"commit", "recover"}, []string{"in/0", "outside", "lost"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, d, _, ended := hasCounted(t)
				met := d.gone(test.err, test.steps...)
				appendTo(t, c, 0)
				var err error
				select {
				case err = <-ended:
				case <-time.After(time.Hour):
					t.Fatalf("it goes on after %d calls", met.Load())
				}
				if !errors.Is(err, test.err) || met.Load() != test.calls {
					t.Errorf("Run: %v, after %d calls", err, met.Load())
				}
				for _, word := range test.says {
					if !strings.Contains(fmt.Sprint(err), word) {
						t.Errorf("%v says nothing of %q", err, word)
					}
				}
			})
		})
	}
}

// What fails the same way each time ends the app also where checkpoints with nothing in them come in between: they are no progress.
func TestCheckpointsWithNothingInThemAreNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d, _, ended := hasCounted(t)
		denied, prepared, met := errors.New("permission denied"), 0, 0
		away := func(_ context.Context, step string) error {
			switch step {
			case "recover":
				prepared = 0
			case "prepare":
				if prepared++; prepared > 3 {
					met++
					return denied
				}
			}
			return nil
		}
		d.away.Store(&away)
		select {
		case err := <-ended:
			if !errors.Is(err, denied) || !strings.Contains(err.Error(), "gave up after 10 attempts") || met != maxTries+1 {
				t.Errorf("Run: %v, after %d calls", err, met)
			}
		case <-time.After(time.Hour):
			t.Fatal("it goes on for ever")
		}
	})
}

// What fails now and then, with inputs that get on in between, is recovered from each time.
func TestRecoveriesBetweenProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d, app, ended := hasCounted(t)
		for i := range 2 * maxTries {
			met := d.gone(errors.New("permission denied"), "prepare")
			appendTo(t, c, 0)
			until(t, "it fails", func() bool { return met.Load() > 0 })
			d.away.Store(nil)
			until(t, "the next count", func() bool { return len(d.Records()) == i+2 })
		}
		if err := errors.Join(app.Stop(t.Context(), stream.Handover), <-ended); err != nil {
			t.Error(err)
		}
	})
}

// At the first start a sink that cannot be reached is an error like any other: it may be the wrong address.
func TestFirstStartWithoutItsSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := &memory.Cluster{}, &distant{Collector: memory.Collect[string, int64]("outside")}
		inAndOut(t, c, 1)
		met := d.gone(connector.ErrUnreachable, "recover")
		_, ended := countsInto(t, c, d)
		if err := <-ended; !errors.Is(err, connector.ErrUnreachable) || !strings.Contains(err.Error(), "outside") || met.Load() != maxTries+1 {
			t.Errorf("Run: %v, after %d calls", err, met.Load())
		}
	})
}

// A sink that waits by itself when an app begins anew waits no longer than the app is wanted.
func TestStopWhileASinkRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d, app, ended := hasCounted(t)
		waits := make(chan struct{})
		away := func(ctx context.Context, step string) error {
			if step == "recover" {
				close(waits)
				<-ctx.Done()
				return ctx.Err()
			}
			return connector.ErrUnreachable
		}
		d.away.Store(&away)
		appendTo(t, c, 0)
		<-waits
		if err := errors.Join(app.Stop(t.Context(), stream.Handover), <-ended); err != nil {
			t.Error(err)
		}
	})
}
