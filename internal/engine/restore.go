package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// changelogRecord is the name under which a store keeps how far its changelog was applied.
const changelogRecord = "changelog"

// A storePlace is how far a store in the database is in its changelog.
type storePlace struct {
	offset int64
	time   int64  // when that was all there was, in ms: what was deleted later, its tombstones must tell
	topic  string // the topic's id, which changes when it is made anew
}

// changelogPlace encodes the place that a store is brought to now.
func (s *session) changelogPlace(st Store, offset int64) []byte {
	b := binary.AppendVarint(binary.AppendUvarint(nil, uint64(offset)), s.now())
	return append(b, s.topics[s.plan.changelogTopic(st.Name)].ID...)
}

// positionsOf are the positions of a task's cut as the group keeps them. The first one carries what else the checkpoint says of the
// task: each changelog's next offset, which is the exact target of a restore, and each the watermark of its input.
func (s *session) positionsOf(r *runner, cut *task.Cut) (out []wire.Position) {
	for _, in := range s.committable(r.sub) {
		pos := cut.Positions[in.input]
		if pos == "" {
			continue
		}
		for i, to := range in.offsets(r.t.Partition, string(pos)) {
			m := metadata{n: cut.N, mark: cut.Marks[in.input], upstream: cut.Upstream[in.input]}
			if len(out) == 0 {
				m.changelogs = r.logged.targets(r.sub)
			}
			if i > 0 {
				m.mark, m.upstream = task.NewMark(), nil
			}
			out = append(out, wire.Position{
				TopicPartition: wire.TopicPartition{Topic: to.Topic, Partition: int32(r.t.Partition)},
				Committed:      wire.Committed{Offset: to.Offset, Metadata: m.String()},
			})
		}
	}
	if len(out) == 0 {
		out = s.changelogPositions(r, cut)
	}
	return out
}

// targets are the places in its changelogs that a task is restored to. They are kept by the stores' names: another version of the
// program may have more stores, in another order.
func (t *loggedTask) targets(sub *Sub) targets {
	to := targets{}
	for i, st := range sub.Stores {
		if st.Changelog {
			to[storeTag(st.Name)] = t.offsets[i]
		}
	}
	return to
}

// changelogPositions are those of a task that has no position of its own, behind a local exchange: the places in its changelogs.
func (s *session) changelogPositions(r *runner, cut *task.Cut) (out []wire.Position) {
	for i, st := range r.sub.Stores {
		if st.Changelog {
			m := metadata{n: cut.N, mark: task.NewMark()}
			out = append(out, wire.Position{
				TopicPartition: wire.TopicPartition{Topic: s.plan.changelogTopic(st.Name), Partition: int32(r.t.Partition)},
				Committed:      wire.Committed{Offset: r.logged.offsets[i], Metadata: m.String()},
			})
		}
	}
	return out
}

// A committableInput is an input whose position the group keeps.
type committableInput struct {
	name     string
	input    int
	topics   []string
	offsets  func(partition int, position string) []wire.TopicOffset
	position func(partition int, offsets []wire.TopicOffset) string
}

// committable lists them in the order of inputs.
func (s *session) committable(sub *Sub) (out []committableInput) {
	for _, src := range sub.Sources {
		if names := s.sourceNames[src]; names != nil {
			out = append(out, committableInput{src.Name, src.Input, names, src.Positions.Offsets, src.Positions.Position})
		}
	}
	for _, x := range sub.In {
		if s.config.local(x) {
			continue
		}
		topic := s.plan.exchangeTopic(x)
		out = append(out, committableInput{x.Name, x.Input, []string{topic},
			func(_ int, position string) []wire.TopicOffset {
				n, _ := strconv.ParseInt(position, 10, 64) // written by exchangePosition
				return []wire.TopicOffset{{Topic: topic, Offset: n}}
			},
			func(_ int, offsets []wire.TopicOffset) string { return exchangePosition(offsets[0].Offset) },
		})
	}
	return out
}

// exchangePosition is a position in an exchange's topic.
func exchangePosition(offset int64) string { return strconv.FormatInt(offset, 10) }

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
	records, err := l.records(ctx)
	if err != nil {
		return nil, err
	}
	out := &saved{tasks: map[string]*taskRecord{}}
	for _, t := range refs {
		rec, err := l.recoverTask(ctx, t, committed, records)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.name(), err)
		}
		out.tasks[t.name()] = rec
		out.n = max(out.n, rec.n)
	}
	return out, nil
}

// recoverTask is recover for one.
func (l *kafkaLog) recoverTask(ctx context.Context, t taskRef, committed map[wire.TopicPartition]wire.Committed, known *records) (*taskRecord, error) {
	rec := &taskRecord{}
	var to targets
	for _, in := range l.s.committable(t.sub) {
		var offsets []wire.TopicOffset
		mark := task.NewMark()
		var upstream []task.Mark
		for _, topic := range in.topics {
			c, ok := committed[wire.TopicPartition{Topic: topic, Partition: int32(t.partition)}]
			if !ok {
				continue
			}
			m, err := parseMetadata(c.Metadata)
			if err != nil {
				return nil, err
			}
			if len(m.changelogs) > 0 {
				to = m.changelogs
			}
			if len(m.upstream) > 0 {
				upstream = m.upstream
			}
			rec.n = max(rec.n, m.n)
			mark.W, mark.High = max(mark.W, m.mark.W), max(mark.High, m.mark.High)
			offsets = append(offsets, wire.TopicOffset{Topic: topic, Offset: c.Offset})
		}
		if len(offsets) > 0 {
			rec.inputs = append(rec.inputs, inputRecord{in.name, connector.Position(in.position(t.partition, offsets)), mark, upstream})
		}
	}
	if len(to) == 0 {
		to = targets{}
		for _, st := range t.sub.Stores {
			tp := wire.TopicPartition{Topic: l.s.plan.changelogTopic(st.Name), Partition: int32(t.partition)}
			if c, ok := committed[tp]; ok {
				to[storeTag(st.Name)] = c.Offset
				m, err := parseMetadata(c.Metadata)
				if err != nil {
					return nil, err
				}
				rec.n = max(rec.n, m.n)
			}
		}
	}
	// Positions that have expired leave the record of the last transaction that changed state. Nothing was committed behind it, so its
	// changelogs end with it.
	expired := len(rec.inputs) == 0 && len(to) == 0 && known.tasks[t.name()] != nil
	lt := &loggedTask{offsets: make([]int64, len(t.sub.Stores))}
	l.tasks[t.name()] = lt
	if err := l.adoptFormats(t, known.formats); err != nil {
		return nil, err
	}
	for i, st := range t.sub.Stores {
		if !st.Changelog {
			continue
		}
		target, named := to[storeTag(st.Name)]
		if expired {
			if target, err := l.s.end(ctx, t, st); err != nil {
				return nil, err
			} else if lt.offsets[i], err = l.restore(ctx, t, st, target, true); err != nil {
				return nil, fmt.Errorf("restore store %s: %w", st.Name, err)
			}
			continue
		}
		reached, err := l.restore(ctx, t, st, target, named)
		if err != nil {
			return nil, fmt.Errorf("restore store %s: %w", st.Name, err)
		}
		lt.offsets[i] = reached
	}
	rec.add(known.tasks[t.name()])
	return rec, nil
}

// end is where a store's changelog ends.
func (s *session) end(ctx context.Context, t taskRef, st Store) (int64, error) {
	tp := wire.TopicPartition{Topic: s.plan.changelogTopic(st.Name), Partition: int32(t.partition)}
	ends, err := s.base.log.List(ctx, wire.End, []wire.TopicPartition{tp})
	return ends[tp], err
}

// changelogsOf are the changelog partitions of a task, in the order of its stores.
func (s *session) changelogsOf(t taskRef) (out []wire.TopicPartition) {
	for _, st := range t.sub.Stores {
		if st.Changelog {
			out = append(out, wire.TopicPartition{Topic: s.plan.changelogTopic(st.Name), Partition: int32(t.partition)})
		}
	}
	return out
}

// restore brings a store in the database to a place in its changelog: exactly the one that the last commit names. The last stable
// offset is no target: a commit answers before its markers are written. Without a place there must be nothing: each commit has one, and
// state of which nobody can say what is in it would count something twice, or not at all, without a word.
func (l *kafkaLog) restore(ctx context.Context, t taskRef, st Store, target int64, named bool) (int64, error) {
	s := l.s
	topic := s.topics[s.plan.changelogTopic(st.Name)]
	tp := wire.TopicPartition{Topic: topic.Name, Partition: int32(t.partition)}
	ends, err := s.base.log.List(ctx, wire.End, []wire.TopicPartition{tp})
	if err != nil {
		return 0, err
	}
	if !named {
		target = ends[tp]
	}
	at, err := s.changelogApplied(t, st)
	from := at.offset
	switch {
	case err != nil:
		return 0, err
	case target > ends[tp]:
		return 0, fmt.Errorf("%w: changelog %s/%d ends at %d, and the last commit needs it up to %d: the topic was made anew, or has lost records; "+
			"to begin anew, delete the app's group, topics and state directory", ErrTopic, tp.Topic, tp.Partition, ends[tp], target)
	case at.topic != "" && topic.ID != "" && at.topic != topic.ID:
		return 0, fmt.Errorf("%w: changelog %s was deleted and made anew since this state was written; delete the state directory to begin with what the topic has now",
			ErrTopic, topic.Name)
	case !named && from > 0:
		return 0, l.nameless(tp)
	case from > target:
		return 0, fmt.Errorf("%w: the state on disk is at offset %d of %s/%d, and the group's committed position says %d: positions were reset under the app; "+
			"delete the app's state directory and changelogs to begin anew", ErrTopology, from, tp.Topic, tp.Partition, target)
	case from == target:
		return target, nil
	}
	if from > 0 && s.now()-at.time > tombstones(topic) {
		s.app.log.Info("state is older than its changelog's tombstones and is built anew", "task", t.name(), "store", st.Name)
		from = 0
	}
	r := &restorer{l: l, t: t, st: st, tp: tp, at: from, target: target, named: named, rows: keys.Rows(t.name(), st.Name)}
	r.rebuild = from < at.offset
	err = r.replay(ctx)
	if errors.Is(err, wire.ErrOffsetGone) && from > 0 {
		r.rebuild = true // compaction or an operator has removed the tail that is missing: all of it is read
		r.at = 0
		err = r.replay(ctx)
	}
	if err == nil && !named && r.found {
		err = l.nameless(tp)
	}
	return r.at, err
}

// tombstones is how long a changelog keeps them after a compaction, in ms: state that is older may miss deletions. What a restore takes
// is part of it, so a tenth is left for that.
func tombstones(t wire.Topic) int64 {
	keep, err := strconv.ParseInt(t.Configs["delete.retention.ms"], 10, 64)
	if err != nil {
		keep = 24 * 60 * 60 * 1000 // Kafka's default, when the cluster does not say
	}
	return keep - keep/10
}

// nameless is the error of state that no commit names.
func (l *kafkaLog) nameless(tp wire.TopicPartition) error {
	return fmt.Errorf("%w: changelog %s/%d has state, and group %s has no position that says what is in it: its positions have expired, or were reset under the app; "+
		"to begin anew, delete the app's changelogs, repartition topics and state directory", ErrTopology, tp.Topic, tp.Partition, l.s.plan.App)
}

// changelogApplied is how far the database has a store's changelog.
func (s *session) changelogApplied(t taskRef, st Store) (at storePlace, err error) {
	_, err = s.base.db.Get(keys.StoreRecord(t.name(), st.Name, changelogRecord), func(v []byte) error {
		n, used := binary.Uvarint(v)
		if used <= 0 {
			return errors.New("the record of the changelog's position is damaged")
		}
		at.offset = int64(n)
		var more int
		if at.time, more = binary.Varint(v[used:]); more <= 0 {
			return errors.New("the record of the changelog's position is damaged")
		}
		at.topic = string(v[used+more:])
		return nil
	})
	return at, err
}

// A restorer replays one changelog partition into the database.
type restorer struct {
	l       *kafkaLog
	t       taskRef
	st      Store
	tp      wire.TopicPartition
	at      int64
	target  int64
	rebuild bool
	named   bool // the target is a commit's: what is before it is written to the database
	found   bool // committed records
	rows    []byte
	run     state.Run
	key     []byte
}

// restoreBytes is how much is put into the database at once: rows are sorted within that, and each time leaves a table that a
// compaction has to merge. fetchBytes is how much is asked for at once.
const (
	restoreBytes = 16 << 20
	fetchBytes   = 4 << 20
)

// replay reads committed records up to the target. The position may pass the target over markers.
func (r *restorer) replay(ctx context.Context) error {
	log := r.l.s.base.log
	if r.at == 0 {
		starts, err := log.List(ctx, wire.Start, []wire.TopicPartition{r.tp})
		if err != nil {
			return err
		}
		r.at = starts[r.tp]
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
		r.put(b)
		r.at = max(r.at, b.Next)
		b.Release()
		if r.run.Bytes() >= restoreBytes {
			if err := r.flush(ctx); err != nil {
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

// put adds a batch's rows. Records past the target belong to a later checkpoint, and are left for it.
func (r *restorer) put(b *wire.Batch) {
	for i := range b.Records {
		rec := &b.Records[i]
		if rec.Offset >= r.target || rec.Key == nil {
			continue
		}
		r.found = true
		r.key = append(append(r.key[:0], r.rows...), rec.Key...)
		if rec.Value == nil {
			r.run.Delete(r.key)
		} else {
			r.run.Put(r.key, rec.Value)
		}
	}
}

// clear drops all rows and the place together: what is killed before the rows are back begins anew.
func (r *restorer) clear() error {
	var b state.Batch
	b.DeleteRange(r.rows, keys.End(r.rows))
	b.Put(keys.StoreRecord(r.t.name(), r.st.Name, changelogRecord), r.l.s.changelogPlace(r.st, 0))
	return r.l.s.base.db.Apply(&b, false)
}

// flush writes what was collected, with the place it reaches to, all or nothing.
func (r *restorer) flush(ctx context.Context) error {
	if !r.named {
		return nil
	}
	r.run.Put(keys.StoreRecord(r.t.name(), r.st.Name, changelogRecord), r.l.s.changelogPlace(r.st, min(r.at, r.target)))
	err := r.l.s.base.load(ctx, &r.run)
	r.run.Reset()
	return err
}
