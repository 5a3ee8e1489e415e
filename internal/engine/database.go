package engine

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/weirstream/weir/state"
)

// A database lets checkpoints, restores and format records be applied one after another, as state.DB asks for.
type database struct {
	state.DB
	mu sync.Mutex
}

// Apply is state.DB's.
func (d *database) Apply(b *state.Batch, sync bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.DB.Apply(b, sync)
}

// errNoIngest says that the backend takes no sorted data in bulk.
var errNoIngest = errors.New("the backend does not ingest")

// Ingest is state.Ingester's, where the backend is one.
func (d *database) Ingest(ctx context.Context, from, to []byte, sorted iter.Seq2[[]byte, []byte]) error {
	in, ok := d.DB.(state.Ingester)
	if !ok {
		return errNoIngest
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return in.Ingest(ctx, from, to, sorted)
}
