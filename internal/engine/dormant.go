package engine

import (
	"context"
	"slices"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/state"
)

// The state of a task is dormant here while the task neither runs here, nor is copied, nor is to come. It is kept for a while, because tasks come
// back, and what it lacks is measured now and then, for the leader to place tasks by (docs/adr/0072). In ms.
const (
	dormantMost  = 60 * 60 * 1000
	measureEvery = 10_000
	measureMost  = 60_000 // what one pause counts for at most: a machine that was suspended has not been waiting
)

// claim takes tasks out of those whose state may be dropped, before they are restored.
func (b *standbys) claim(refs []taskRef) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range refs {
		delete(b.mu.dormant, t.name())
	}
	b.s.base.warmth.rest(b.mu.dormant)
}

// restLocked finds out which tasks' state is dormant, when tasks have come or gone; copied are those that are followed. The session's loop calls it.
func (b *standbys) restLocked(copied map[string]taskRef) {
	b.mu.dormant = map[string]taskRef{}
	for _, t := range b.s.refs {
		name := t.name()
		_, follows := copied[name]
		told := slices.Contains(b.mu.told.Next, name) || slices.Contains(b.mu.told.Coming, name) || slices.Contains(b.mu.told.Follow, name)
		if t.logged() && !follows && !told && b.s.tasks[t.sub][t.partition] == nil && b.s.making[name] == nil {
			b.mu.dormant[name] = t
		}
	}
	b.s.base.warmth.rest(b.mu.dormant)
}

// tend measures dormant state, and drops what was dormant for long. What fails is tried again: nothing that is right rests on it.
func (b *standbys) tend(ctx context.Context) {
	if b.s.base.db == nil {
		return
	}
	now := b.s.now()
	b.mu.Lock()
	passed := now - b.mu.measured
	if passed < measureEvery {
		b.mu.Unlock()
		return
	}
	b.mu.measured = now
	var all []taskRef
	for _, t := range b.mu.dormant {
		all = append(all, t)
	}
	b.mu.Unlock()
	asleep := b.s.base.warmth.asleepOf(all, min(passed, measureMost))
	var kept []taskRef
	for _, t := range all {
		since, here := asleep[t.name()]
		switch {
		case !here: // nothing of it
		case since < dormantMost:
			kept = append(kept, t)
		default:
			if err := b.drop(t); err != nil {
				b.s.app.log.Warn("state that is not needed here was not dropped", "task", t.name(), "error", err)
			}
		}
	}
	if err := b.s.survey(ctx, kept); err != nil && ctx.Err() == nil {
		b.s.app.log.Info("what dormant state lacks was not measured", "error", err)
	}
}

// drop deletes a task's state, all of it at once, unless somebody has claimed it meanwhile. Who restores it claims it, and then waits for the lock.
func (b *standbys) drop(t taskRef) error {
	defer b.l.hold(t.name())()
	b.mu.Lock()
	_, dormant := b.mu.dormant[t.name()]
	b.mu.Unlock()
	if !dormant {
		return nil
	}
	var batch state.Batch
	all := keys.Task(t.name())
	batch.DeleteRange(all, keys.End(all))
	if err := b.s.base.db.Apply(&batch, false); err != nil {
		return err
	}
	b.s.base.warmth.forget(t.name())
	b.s.app.log.Info("state of a task that has not been here for long was dropped", "task", t.name())
	return nil
}

// rest keeps count of how long the state of these tasks, and of no others, has been dormant.
func (w *warmth) rest(dormant map[string]taskRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.asleep
	w.asleep = map[string]int64{}
	for name := range dormant {
		w.asleep[name] = before[name]
	}
}

// asleepOf says how long each of these tasks' state has been dormant, now that some time has passed. Those of which nothing is here are missing.
func (w *warmth) asleepOf(tasks []taskRef, passed int64) map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int64{}
	for _, t := range tasks {
		name := t.name()
		_, here := w.lags[name]
		since, rests := w.asleep[name]
		if here && rests {
			w.asleep[name] = since + passed
			out[name] = since + passed
		}
	}
	return out
}

// forget notes that nothing is left of a task's state.
func (w *warmth) forget(task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.lags, task)
	delete(w.asleep, task)
}
