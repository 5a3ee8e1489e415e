package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/weirstream/weir/internal/wire"
)

// recover reads what the last commit says of the tasks, and restores their stores to exactly that.
func (l *kafkaLog) recover(ctx context.Context, refs []taskRef) (*saved, error) {
	s := l.s
	var of []wire.TopicPartition
	for _, t := range refs {
		of = append(of, t.partitions...)
		of = append(of, s.changelogsOf(t)...)
	}
	committed, err := s.base.log.Committed(s.patient(ctx), s.plan.App, of)
	if err != nil {
		return nil, fmt.Errorf("read the group's positions: %w", err)
	}
	records, err := l.records(ctx, wire.End)
	if err != nil {
		return nil, err
	}
	if err := compareStores(s, records.formats, s.plan.lastingStores()); err != nil {
		return nil, err
	}
	if s.base.db != nil {
		if err := s.dropRows(refs); err != nil {
			return nil, err
		}
	}
	recs := make([]*taskRecord, len(refs))
	errs := make([]error, len(refs))
	s.sideBySide(len(refs), func(i int) bool {
		if recs[i], errs[i] = l.recoverTask(ctx, refs[i], committed, records); errs[i] != nil {
			errs[i] = fmt.Errorf("task %s: %w", refs[i].name(), errs[i])
		}
		return errs[i] == nil
	})
	if err := errors.Join(errs...); err != nil {
		return nil, l.unlessMoved(ctx, committed, of, err)
	}
	out := &saved{tasks: map[string]*taskRecord{}}
	for i, t := range refs {
		out.tasks[t.name()] = recs[i]
		out.n = max(out.n, recs[i].n)
	}
	return out, nil
}

// unlessMoved is err, for which state and positions that do not fit together are to blame, unless the positions are others by now. A process that was
// suspended goes on with those that it read before, while another one had its tasks; it begins anew, and finds out whose they are.
func (l *kafkaLog) unlessMoved(ctx context.Context, read map[wire.TopicPartition]wire.Committed, of []wire.TopicPartition, err error) error {
	if !errors.Is(err, ErrTopology) && !errors.Is(err, ErrTopic) {
		return err
	}
	now, failed := l.s.base.log.Committed(l.s.patient(ctx), l.s.plan.App, of)
	if failed == nil && maps.Equal(now, read) {
		return err
	}
	return &errRecover{fmt.Errorf("the group's positions have moved on since they were read: %w", errors.Join(err, failed))}
}

// atOnce is how many tasks' changelogs are read side by side: each takes memory for what it fetches and sorts.
const atOnce = 4

// sideBySide calls do for n things, some at a time, until one returns false. Without goroutines it is one after the other.
func (s *session) sideBySide(n int, do func(i int) bool) {
	if !s.threaded {
		for i := 0; i < n && do(i); i++ {
		}
		return
	}
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range min(n, atOnce) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if !do(i) {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
}

// recoverTask is recover for one.
func (l *kafkaLog) recoverTask(ctx context.Context, t taskRef, committed map[wire.TopicPartition]wire.Committed, known *records) (rec *taskRecord, err error) {
	defer l.hold(t.name())()
	said, err := l.s.saidOf(t, committed)
	if err != nil {
		return nil, err
	}
	rec, own := said.taskRecord, known.tasks[t.name()]
	own, back, err := l.s.putRight(t, said, own, committed)
	if err != nil {
		return nil, err
	}
	// Positions that have expired, or were moved back, leave the record of the last transaction that changed state. Nothing was committed behind it, so
	// its changelogs end with it.
	to := said.to
	expired := back || len(rec.inputs) == 0 && len(to) == 0 && own != nil
	if expired {
		to = nil
		if err := l.s.checkLogs(t, own.logs); err != nil {
			return nil, err
		}
	}
	rec.add(own)
	if err := l.s.checkTopics(ctx, t, rec); err != nil {
		return nil, err
	}
	lt := &loggedTask{offsets: make([]int64, len(t.sub.Stores))}
	if err := l.adoptFormats(t, known.formats); err != nil {
		return nil, err
	}
	missing, err := l.s.missing(t, to)
	if err != nil {
		return nil, err
	}
	behind, err := l.s.missingOfTopics(t, rec)
	if err != nil {
		return nil, err
	}
	if t.logged() {
		l.s.base.warmth.set(t.name(), missing) // and if it is given up before it is whole
	}
	p := l.s.app.restores.begin(t.name(), missing+behind, l.s.now(), l.s.config.OnRestore)
	defer func() { p.end(err) }()
	for i, st := range t.sub.Stores {
		if !st.Changelog {
			continue
		}
		target, named := to[storeTag(st.Name)]
		if _, was := to[topicTag(st.Name)]; was && !named {
			return nil, l.s.neverLogged(t, st)
		}
		if lt.offsets[i], err = l.restore(ctx, t, st, target, named, expired, p); err != nil {
			return nil, fmt.Errorf("restore store %s: %w", st.Name, err)
		}
	}
	for i, st := range t.sub.Stores {
		if st.Source == nil {
			continue
		}
		if lt.offsets[i], err = l.restoreFromTopic(ctx, t, st, rec.position(st.Source.Name), p); err != nil {
			return nil, fmt.Errorf("restore store %s: %w", st.Name, err)
		}
	}
	l.put(t.name(), lt)
	return rec, nil
}

// missing is how many records of its changelogs a task's state lacks.
func (s *session) missing(t taskRef, to targets) (n int64, err error) {
	for _, st := range t.sub.Stores {
		if !st.Changelog {
			continue
		}
		at, err := s.changelogApplied(t, st)
		if err != nil {
			return 0, err
		}
		n += max(0, to[storeTag(st.Name)]-at.offset)
	}
	return n, nil
}

// nameless is the error of state that no commit names.
func (l *kafkaLog) nameless(tp wire.TopicPartition) error {
	return fmt.Errorf("%w: changelog %s/%d has state, and group %s has no position that says what is in it: its positions have expired, or were reset under the app; "+
		"to begin anew, delete the app's changelogs, repartition topics and state directory", ErrTopology, tp.Topic, tp.Partition, l.s.plan.App)
}
