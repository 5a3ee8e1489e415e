package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
)

// A Global is a table that every process holds whole.
type Global struct {
	Name       string
	Partitions func(ctx context.Context, env connector.Env) (int, error)
	Open       func(ctx context.Context, env connector.Env, partition int, from connector.Position) (task.Reader, error)
	Rows       Rows
}

// Rows keep what was read of a global table.
type Rows interface {
	// Apply takes a batch. bad is called for what is skipped.
	Apply(b task.Batch, bad func(error)) error
	// Reset forgets everything.
	Reset()
}

// A follower reads one partition of a global table.
type follower struct {
	s      *session
	g      *Global
	name   string
	reader task.Reader
	bad    func(error)
	ended  bool
}

// reading is implemented by batches: what is known of the partition behind them.
type reading interface{ State() connector.ReadState }

// loadGlobals reads every global table to its end, and then follows it.
func (s *session) loadGlobals(ctx context.Context) error {
	for _, g := range s.plan.Globals {
		g.Rows.Reset()
		n, err := g.Partitions(ctx, s.base.env)
		if err != nil {
			return fmt.Errorf("global table %s: %w", g.Name, topicError(err))
		}
		skipped := s.counter("weir_rejected_total", "node", g.Name)
		for p := range n {
			f := &follower{s: s, g: g, name: fmt.Sprintf("%s/%d", g.Name, p)}
			f.bad = func(err error) {
				skipped(1)
				s.app.log.Warn("row of a global table skipped", "table", f.name, "error", err)
			}
			if f.reader, err = g.Open(ctx, s.base.env, p, ""); err != nil {
				return fmt.Errorf("global table %s: %w", f.name, err)
			}
			s.followers = append(s.followers, f)
			if err := f.load(ctx); err != nil {
				return fmt.Errorf("global table %s: %w", f.name, err)
			}
		}
	}
	if s.threaded {
		for _, f := range s.followers {
			s.wg.Go(f.follow)
		}
	}
	return nil
}

// load reads up to the end. A driver without goroutines takes what is there.
func (f *follower) load(ctx context.Context) error {
	if !f.s.threaded {
		_, err := f.poll()
		return err
	}
	for {
		atEnd, err := f.step(ctx)
		if err != nil || atEnd || f.ended {
			return err
		}
	}
}

// step takes one batch.
func (f *follower) step(ctx context.Context) (atEnd bool, err error) {
	b, err := f.reader.Next(ctx)
	if errors.Is(err, io.EOF) {
		f.ended = true
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if r, ok := b.(reading); ok {
		st := r.State()
		atEnd = st.AtEnd || !st.More
	}
	return atEnd, f.g.Rows.Apply(b, f.bad)
}

// follow goes on behind the end.
func (f *follower) follow() {
	for !f.ended && f.s.ctx.Err() == nil {
		if _, err := f.step(f.s.ctx); err != nil && f.s.ctx.Err() == nil {
			f.s.post(event{failed: &errRecover{fmt.Errorf("global table %s: %w", f.name, err)}})
			select {
			case <-f.s.ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// poll takes what is at hand.
func (f *follower) poll() (any bool, err error) {
	ended, cancel := context.WithCancel(f.s.ctx)
	cancel()
	for !f.ended {
		b, err := f.reader.Next(ended)
		switch {
		case errors.Is(err, io.EOF):
			f.ended = true
			return any, nil
		case err != nil && errors.Is(err, context.Canceled):
			return any, nil
		case err != nil:
			return any, err
		case b.Len() == 0:
			return any, nil
		}
		any = true
		if err := f.g.Rows.Apply(b, f.bad); err != nil {
			return any, err
		}
	}
	return any, nil
}
