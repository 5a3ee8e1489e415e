package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// restore brings a store of a task that comes here to the place that the last commit names, or with expired to the end. Without a place
// there must be nothing: each commit has one, and state of which nobody can say what is in it would count something twice, or not at all,
// without a word.
func (l *kafkaLog) restore(ctx context.Context, t taskRef, st Store, target int64, named, expired bool, p *progress) (int64, error) {
	s := l.s
	tp := wire.TopicPartition{Topic: s.plan.changelogTopic(st.Name), Partition: int32(t.partition)}
	ends, err := s.base.log.List(ctx, wire.End, []wire.TopicPartition{tp})
	if err != nil {
		return 0, err
	}
	if !named {
		target = ends[tp]
	}
	r := &restorer{l: l, t: t, st: st, tp: tp, pace: &l.pace, moved: func(n int64) { p.add(n, s.now()) }, count: s.counter("weir_restored_records_total", "task", t.name())}
	return r.restore(ctx, target, named || expired, ends[tp])
}

// A restorer replays one changelog partition into the database.
type restorer struct {
	l       *kafkaLog
	t       taskRef
	st      Store
	tp      wire.TopicPartition
	pace    *pace
	count   func(int64) // of records that were read and are not skipped
	moved   func(int64) // is told by how many records the place has moved
	at      int64
	target  int64
	since   int64 // the time that the state's place is of while the target is not reached
	began   int64 // … and when it is
	rebuild bool
	named   bool // the target is a commit's: what is before it is written to the database
	found   bool // committed records
	rows    []byte
	run     state.Run
	key     []byte
}

// restore brings the store to a place in its changelog: exactly the one that a commit names. The last stable offset is no target: a
// commit answers before its markers are written. end is where the changelog ends.
func (r *restorer) restore(ctx context.Context, target int64, named bool, end int64) (int64, error) {
	s, tp := r.l.s, r.tp
	topic := s.topics[tp.Topic]
	at, err := s.changelogApplied(r.t, r.st)
	from := at.offset
	switch {
	case err != nil:
		return 0, err
	case target > end:
		return 0, fmt.Errorf("%w: changelog %s/%d ends at %d, and the last commit needs it up to %d: the topic was made anew, or has lost records; "+
			"to begin anew, delete the app's group, topics and state directory", ErrTopic, tp.Topic, tp.Partition, end, target)
	case at.topic != "" && topic.ID != "" && at.topic != topic.ID:
		return 0, madeAnew("changelog "+topic.Name, at.topic, topic.ID, "") // the commit was of a version that names no ids of changelogs
	case !named && from > 0:
		return 0, r.l.nameless(tp)
	case from > target:
		return 0, fmt.Errorf("%w: the state on disk is at offset %d of %s/%d, and the group's committed position says %d: positions were reset under the app; "+
			"delete the app's state directory and changelogs to begin anew", ErrTopology, from, tp.Topic, tp.Partition, target)
	case from == target:
		return target, nil
	}
	r.began, r.since = s.now(), at.time
	if from > 0 && r.began-at.time > tombstones(topic) {
		s.app.log.Info("state is older than its changelog's tombstones and is built anew", "task", r.t.name(), "store", r.st.Name)
		from = 0
	}
	r.at, r.target, r.named, r.rows = from, target, named, keys.Rows(r.t.name(), r.st.Name)
	r.rebuild = from < at.offset
	err = r.replay(ctx)
	if errors.Is(err, wire.ErrOffsetGone) && from > 0 {
		r.rebuild = true // compaction or an operator has removed the tail that is missing: all of it is read
		r.at = 0
		err = r.replay(ctx)
	}
	if err == nil && !named && r.found {
		err = r.l.nameless(tp)
	}
	return r.at, err
}

// fetchBytes is how much is asked for at once.
const fetchBytes = 4 << 20

// restoreBytes is how much of a store is put into the database at once. Rows are sorted within that, and each time leaves tables that compactions
// merge with those before, which costs more than all the rest of a restore: a store that fits costs none. All that restore at
// once have a quarter of the app's memory, which is the overlays' as long as there is nothing in them.
func (s *session) restoreBytes() int {
	return int(min(max(s.config.MemoryBytes/4/atOnce, bulkBytes), 64<<20))
}

// replay reads committed records up to the target. The position may pass the target over markers.
func (r *restorer) replay(ctx context.Context) error {
	log := r.l.s.base.log
	if r.at == 0 {
		starts, err := log.List(ctx, wire.Start, []wire.TopicPartition{r.tp})
		if err != nil {
			return err
		}
		r.at, r.since = starts[r.tp], r.began
	}
	r.run.Reset()
	if r.rebuild {
		if err := r.clear(); err != nil {
			return err
		}
	}
	rd, err := log.Read(ctx, r.tp, r.at, wire.ReadOptions{Committed: true, MaxBytes: fetchBytes})
	if err != nil {
		return err
	}
	defer rd.Close()
	for r.at < r.target {
		b, err := r.l.s.next(ctx, rd)
		if err != nil {
			return fmt.Errorf("changelog %s/%d at %d, before the committed place %d: %w", r.tp.Topic, r.tp.Partition, r.at, r.target, err)
		}
		bytes := b.Bytes
		r.makeRoom(b)
		r.put(b)
		was := r.at
		r.at = max(r.at, b.Next)
		r.moved(r.at - was)
		b.Release()
		if r.run.Bytes() >= r.l.s.restoreBytes() {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
		if r.at < r.target {
			if err := r.pace.wait(ctx, bytes); err != nil {
				return err
			}
		}
	}
	return r.flush(ctx)
}

// patient is ctx for waiting until somebody else's transaction has ended, which a driver without goroutines does not do: the one who
// would end it may be waiting for the driver.
func (s *session) patient(ctx context.Context) context.Context {
	if s.threaded {
		return ctx
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return ended
}

// next waits for a batch. A driver without goroutines does not wait: what is committed is there, or markers are on their way.
func (s *session) next(ctx context.Context, rd wire.Reader) (*wire.Batch, error) {
	b, err := rd.Next(s.patient(ctx))
	if err != nil && ctx.Err() == nil && !s.threaded {
		return nil, fmt.Errorf("not all of what is committed can be read: %w", err)
	}
	return b, err
}

// makeRoom is called before an empty run gets its first batch. What is to come is judged by it: rows that are added to a run that grows are copied over and over.
func (r *restorer) makeRoom(b *wire.Batch) {
	n := int64(len(b.Records))
	if r.run.Len() > 0 || n == 0 {
		return
	}
	var bytes int64
	for i := range b.Records {
		bytes += int64(len(r.rows) + len(b.Records[i].Key) + len(b.Records[i].Value))
	}
	come := n * (r.target - r.at) / max(1, b.Next-r.at) // compaction leaves gaps
	r.run.Grow(int(max(n, come)), int(bytes/n)+1, r.l.s.restoreBytes())
}

// put adds a batch's rows. Records past the target belong to a later checkpoint, and are left for it.
func (r *restorer) put(b *wire.Batch) {
	n := int64(0)
	for i := range b.Records {
		rec := &b.Records[i]
		if rec.Offset >= r.target || rec.Key == nil {
			continue
		}
		r.found = true
		n++
		r.key = append(append(r.key[:0], r.rows...), rec.Key...)
		if rec.Value == nil {
			r.run.Delete(r.key)
		} else {
			r.run.Put(r.key, rec.Value)
		}
	}
	r.count(n)
}

// clear drops all rows and the place together: what is killed before the rows are back begins anew.
func (r *restorer) clear() error {
	var b state.Batch
	b.DeleteRange(r.rows, keys.End(r.rows))
	b.Put(keys.StoreRecord(r.t.name(), r.st.Name, changelogRecord), r.l.s.changelogPlace(r.st, 0, r.began))
	return r.l.s.base.db.Apply(&b, false)
}

// flush writes what was collected, with the place it reaches to, all or nothing.
func (r *restorer) flush(ctx context.Context) error {
	if !r.named {
		return nil
	}
	when := r.since // tombstones that are still to be read count from when this began, or from what the state was before
	if r.at >= r.target {
		when = r.began
	}
	r.run.Put(keys.StoreRecord(r.t.name(), r.st.Name, changelogRecord), r.l.s.changelogPlace(r.st, min(r.at, r.target), when))
	err := r.l.s.base.load(ctx, &r.run)
	r.run.Reset()
	return err
}
