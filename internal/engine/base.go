package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/statedir"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// A base is what outlives a session: the connection to the cluster and the database.
type base struct {
	log wire.Log      // nil without a cluster
	dir *statedir.Dir // nil without a state directory
	db  state.DB      // nil without a backend
	env connector.Env
}

// open connects and opens the database.
func (a *App) open(ctx context.Context) (*base, error) {
	b := &base{env: connector.Env{App: a.plan.App, Cluster: a.config.Cluster, StateDir: a.config.StateDir, Logger: a.log}}
	if a.config.Cluster != nil {
		log, err := a.config.Cluster.Connect(ctx, a.plan.App)
		if err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
		b.log, b.env.Log = log, log
	}
	if err := a.openState(ctx, b); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrStateDir, err), b.close())
	}
	return b, nil
}

// openState takes the app's own folder, so that no second process uses it, and opens the database in it.
func (a *App) openState(ctx context.Context, b *base) (err error) {
	folder := ""
	if a.config.StateDir != "" {
		if b.dir, err = statedir.Open(filepath.Join(a.config.StateDir, a.plan.App)); err != nil {
			return err
		}
		folder = b.dir.DB()
	}
	if a.config.State == nil {
		return nil
	}
	// Without a cluster the database is the commit log, and each checkpoint a synced batch.
	settings := state.Settings{MemoryBytes: a.config.MemoryBytes, Synced: a.config.Cluster == nil, Logger: a.log}
	if b.db, err = state.Open(ctx, a.config.State, folder, settings); err != nil {
		return fmt.Errorf("open state in %q: %w", folder, err)
	}
	return nil
}

func (b *base) close() error {
	var errs []error
	if b.db != nil {
		errs = append(errs, b.db.Close())
	}
	if b.dir != nil {
		errs = append(errs, b.dir.Close())
	}
	if b.log != nil {
		errs = append(errs, b.log.Close())
	}
	return errors.Join(errs...)
}
