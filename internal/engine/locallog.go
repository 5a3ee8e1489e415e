package engine

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/state"
)

// A localLog is the commit log of an app without a cluster: one synced batch of the database holds a checkpoint's deltas, positions,
// watermarks and the handles of prepared sinks. Without a database it keeps them in memory, and a restart begins anew.
type localLog struct {
	s     *session
	db    state.DB
	batch state.Batch
}

// recordName is that of a task's record among the task's keys.
const recordName = "checkpoint"

// openCommitLog picks the commit log that the configuration asks for.
func openCommitLog(_ context.Context, s *session) (commitLog, error) {
	return &localLog{s: s, db: s.base.db}, nil
}

// recover reads the record of every task, and finishes what was prepared.
func (l *localLog) recover(ctx context.Context) (*saved, error) {
	out := &saved{tasks: map[string]*taskRecord{}}
	if l.db == nil {
		return out, nil
	}
	for _, sub := range l.s.plan.Subs {
		for p := range l.s.counts[sub] {
			name := fmt.Sprintf("%s/%d", sub.Name, p)
			var rec *taskRecord
			_, err := l.db.Get(keys.TaskRecord(name, recordName), func(v []byte) (err error) {
				rec, err = decodeRecord(v)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("task %s: %w", name, err)
			}
			if rec != nil {
				out.tasks[name] = rec
				out.n = max(out.n, rec.n)
			}
		}
	}
	return out, nil
}

func (l *localLog) equip(*runner, uint64) error                        { return nil }
func (l *localLog) write(*runner, *task.Cut, []connector.Handle) error { return nil }
func (l *localLog) full() bool                                         { return false }
func (l *localLog) close() error                                       { return nil }

func (l *localLog) guarantee() string {
	switch {
	case l.s.config.Guarantee != ExactlyOnce:
		return l.s.config.Guarantee.String()
	case l.db == nil:
		return "exactly-once while the process lives: there is no State to remember positions in"
	}
	return ExactlyOnce.String()
}

// commit writes the batch, then commits what sinks have prepared.
func (l *localLog) commit(ctx context.Context, cp *checkpoint) error {
	if l.db != nil {
		l.batch.Reset()
		for _, p := range cp.parts {
			for _, d := range p.cut.Deltas {
				d.AddTo(&l.batch)
			}
			l.batch.Put(keys.TaskRecord(p.r.name, recordName), recordOf(p).append(nil))
		}
		if err := l.db.Apply(&l.batch, true); err != nil {
			return fmt.Errorf("checkpoint %d: %w", cp.n, err)
		}
	}
	return commitSinks(ctx, cp)
}

// commitSinks commits the handles of sinks outside the commit log. A crash before it ends is made good at the next start.
func commitSinks(ctx context.Context, cp *checkpoint) error {
	for _, p := range cp.parts {
		for i, h := range p.handles {
			if h == nil {
				continue
			}
			if err := p.r.t.Sinks[i].Commit(ctx, h); err != nil {
				return &errRecover{fmt.Errorf("task %s: sink %s: commit of checkpoint %d: %w", p.r.name, p.r.t.Sinks[i].Name(), cp.n, err)}
			}
		}
	}
	return nil
}
