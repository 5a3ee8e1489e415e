package engine

import (
	"context"
	"fmt"
	"time"

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

// openCommitLog picks the commit log that the configuration asks for, and says which tasks are this process's.
func openCommitLog(ctx context.Context, s *session) (commitLog, error) {
	if s.base.log != nil {
		l, err := openKafkaLog(ctx, s)
		if l == nil {
			return nil, err
		}
		return l, err
	}
	s.owned = s.refs
	if err := s.learnIDs(ctx); err != nil {
		return nil, err
	}
	return &localLog{s: s, db: s.base.db}, nil
}

// recover reads the record of every task.
func (l *localLog) recover(ctx context.Context, refs []taskRef) (*saved, error) {
	out := &saved{tasks: map[string]*taskRecord{}}
	if l.db == nil {
		return out, nil
	}
	if err := l.s.compareOwn(l.db); err != nil {
		return nil, err
	}
	for _, t := range refs {
		var rec *taskRecord
		_, err := l.db.Get(keys.TaskRecord(t.name(), recordName), func(v []byte) (err error) {
			rec, err = decodeRecord(v)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.name(), err)
		}
		if rec != nil {
			if err := l.s.checkTopics(ctx, t, rec); err != nil {
				return nil, fmt.Errorf("task %s: %w", t.name(), err)
			}
			out.tasks[t.name()] = rec
			out.n = max(out.n, rec.n)
		}
	}
	return out, nil
}

func (l *localLog) equip(*runner, uint64) error                        { return nil }
func (l *localLog) write(*runner, *task.Cut, []connector.Handle) error { return nil }
func (l *localLog) full() bool                                         { return false }
func (l *localLog) close(bool) error                                   { return nil }
func (l *localLog) interval(d time.Duration) time.Duration             { return d }

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
