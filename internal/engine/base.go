package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// A base is what outlives a session: the connection to the cluster and the database.
type base struct {
	log wire.Log // nil without a cluster
	db  state.DB // nil without a backend
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
	if a.config.State != nil {
		dir, err := a.stateDir()
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		if b.db, err = a.config.State.Open(ctx, dir); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: open state in %q: %w", ErrStateDir, dir, err), b.close())
		}
	}
	return b, nil
}

// stateDir is the app's own folder, made when it is missing.
func (a *App) stateDir() (string, error) {
	if a.config.StateDir == "" {
		return "", nil
	}
	dir := filepath.Join(a.config.StateDir, a.plan.App)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("%w: %w", ErrStateDir, err)
	}
	return dir, nil
}

func (b *base) close() error {
	var errs []error
	if b.db != nil {
		errs = append(errs, b.db.Close())
	}
	if b.log != nil {
		errs = append(errs, b.log.Close())
	}
	return errors.Join(errs...)
}
