package engine

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/weirstream/weir/internal/wire"
)

// A warmth is what this process has of the tasks' state, for the leader to know. It outlives sessions, as the database does. It never
// waits, for the group asks it while everyone waits for the answer.
type warmth struct {
	mu      sync.Mutex
	lags    map[string]int64 // by task: how many records of its changelogs are missing
	asleep  map[string]int64 // by task whose state is dormant: for how long, in ms
	running map[string]bool  // tasks without a partition
	next    []string         // tasks that were promised to this process
	refs    []taskRef        // all tasks, for a plan
	disk    string           // names what is on disk: another one has nothing of it
	begun   bool             // a session has taken what the seat holds
}

// set notes how much a task's state lacks.
func (w *warmth) set(task string, lag int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lags == nil {
		w.lags = map[string]int64{}
	}
	w.lags[task] = lag
}

// run notes what no partition shows: which tasks without one a session has, and what comes to it next.
func (w *warmth) run(refs []taskRef, d memberData) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next, w.begun = d.Next, true
	w.running = map[string]bool{}
	for _, t := range refs {
		if len(t.partitions) == 0 {
			w.running[t.name()] = true
		}
	}
}

// tell adds it to what the member says.
func (w *warmth) tell(d memberData) memberData {
	w.mu.Lock()
	defer w.mu.Unlock()
	d.State = maps.Clone(w.lags)
	d.Next = w.next
	d.Mark, d.Vacant = w.markLocked(), !w.begun
	d.Tasks = slices.Sorted(maps.Keys(w.running))
	return d
}

// know sets the tasks that a plan is made of.
func (w *warmth) know(refs []taskRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refs = refs
}

func (w *warmth) tasks() []taskRef {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refs
}

// survey finds what state is on disk, of tasks that are not ours yet or not any more, and how old it is: by the ends of the
// changelogs, for who has written them may not have committed yet, and it is an estimate anyway.
func (s *session) survey(ctx context.Context, refs []taskRef) error {
	at := map[string]int64{}
	parts := map[string][]wire.TopicPartition{}
	var all []wire.TopicPartition
	for _, t := range refs {
		if !t.logged() {
			continue
		}
		for _, st := range t.sub.Stores {
			place, err := s.changelogApplied(t, st)
			if err != nil {
				return err
			}
			at[t.name()] += place.offset
		}
		if at[t.name()] > 0 {
			parts[t.name()] = s.changelogsOf(t)
			all = append(all, parts[t.name()]...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	ends, err := s.base.log.List(ctx, wire.End, all)
	if err != nil {
		return err
	}
	for name, of := range parts {
		lag := -at[name]
		for _, tp := range of {
			lag += ends[tp]
		}
		s.base.warmth.set(name, max(0, lag))
	}
	return nil
}
