package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/statedir"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// A base is what outlives a session: the connection to the cluster and the database.
type base struct {
	log      wire.Log       // nil without a cluster
	dir      *statedir.Dir  // nil without a state directory
	db       state.DB       // nil without a backend
	bulk     state.Ingester // of db; nil when it has none
	env      connector.Env
	warmth   warmth // what is here of the tasks' state
	far      farClusters
	seat     *seat  // nil before the first session has joined
	stay     bool   // keep the seat for a restart
	instance string // names this process in transactional ids
	static   string // the same as group.instance.id; "" when the name is not kept
	numbered uint64 // the greatest number that a checkpoint has had here, committed or not: none is given twice
}

// open connects and opens the database.
func (a *App) open(ctx context.Context) (*base, error) {
	b := &base{env: connector.Env{App: a.plan.App, Cluster: a.config.Cluster, StateDir: a.config.StateDir, Logger: a.log}}
	if err := a.openState(ctx, b); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrStateDir, err), b.close())
	}
	if a.config.Cluster != nil {
		log, err := a.config.Cluster.Connect(ctx, a.plan.App)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connect: %w", err), b.close())
		}
		b.log, b.env.Log = log, log
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
	if err = a.nameInstance(b); err != nil {
		return err
	}
	if a.config.State == nil {
		return nil
	}
	// Without a cluster the database is the commit log, and each checkpoint a synced batch.
	settings := state.Settings{MemoryBytes: a.config.MemoryBytes, Synced: a.config.Cluster == nil, Logger: a.log}
	db, err := state.Open(ctx, a.config.State, folder, settings)
	if err != nil {
		return fmt.Errorf("open state in %q: %w", folder, err)
	}
	b.db = &database{DB: db}
	b.bulk, _ = db.(state.Ingester)
	return nil
}

// nameInstance gives the process the name that its transactions go by: the configured one, the one its folder keeps, else one for this
// life alone, whose transactions others end when it is gone.
func (a *App) nameInstance(b *base) (err error) {
	b.instance = a.config.Instance
	if b.instance == "" && b.dir != nil {
		b.instance, err = b.dir.Instance()
	}
	b.static = b.instance
	if b.instance == "" {
		b.instance = randomInstance()
	}
	return err
}

// leaveTimeout bounds how long leaving the group may take.
const leaveTimeout = 5 * time.Second

// stand gives the seat up, or with stay leaves it for a restart.
func (b *base) stand(stay bool) error {
	if b.seat == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	err := b.seat.leave(ctx, stay)
	b.seat = nil
	return err
}

func (b *base) close() error {
	errs := []error{b.stand(b.stay), b.far.close()}
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
