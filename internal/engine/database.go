package engine

import (
	"context"
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

// bulkBytes is where a run of rows is worth tables of its own. A few rows are cheaper as a batch, and leave no small table behind.
const bulkBytes = 1 << 20

// load puts a run of rows over what is there: as sorted tables where the backend takes them and there are many, else as a batch. Tables
// go in beside the batches of other stores.
func (b *base) load(ctx context.Context, run *state.Run) error {
	if b.bulk != nil && run.Bytes() >= bulkBytes {
		return b.bulk.Ingest(ctx, nil, nil, run.Sorted())
	}
	var batch state.Batch
	batch.Append(run.Sorted(), run.Bytes())
	return b.db.Apply(&batch, false)
}
