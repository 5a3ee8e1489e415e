package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// changelogRecord is the name under which a store keeps how far its changelog was applied.
const changelogRecord = "changelog"

// A storePlace is how far a store in the database is in its changelog.
type storePlace struct {
	offset int64
	time   int64  // when that was all there was, in ms: what was deleted later, its tombstones must tell
	topic  string // the topic's id, which changes when it is made anew
}

// changelogPlace encodes a place that a store is brought to, with the time when that was all there was.
func (s *session) changelogPlace(st Store, offset, when int64) []byte {
	b := binary.AppendVarint(binary.AppendUvarint(nil, uint64(offset)), when)
	return append(b, s.logOf(st).ID...)
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
	if err := s.compareStores(records.formats); err != nil {
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
	rec, to, err := l.s.saidOf(t, committed)
	if err != nil {
		return nil, err
	}
	// Positions that have expired leave the record of the last transaction that changed state. Nothing was committed behind it, so its
	// changelogs end with it.
	expired := len(rec.inputs) == 0 && len(to) == 0 && known.tasks[t.name()] != nil
	lt := &loggedTask{offsets: make([]int64, len(t.sub.Stores))}
	if err := l.adoptFormats(t, known.formats); err != nil {
		return nil, err
	}
	missing, err := l.s.missing(t, to)
	if err != nil {
		return nil, err
	}
	p := l.s.app.restores.begin(t.name(), missing, l.s.now(), l.s.config.OnRestore)
	defer func() { p.end(err) }()
	for i, st := range t.sub.Stores {
		if !st.Changelog {
			continue
		}
		target, named := to[storeTag(st.Name)]
		if lt.offsets[i], err = l.restore(ctx, t, st, target, named, expired, p); err != nil {
			return nil, fmt.Errorf("restore store %s: %w", st.Name, err)
		}
	}
	rec.add(known.tasks[t.name()])
	for i, st := range t.sub.Stores {
		if st.Source == nil {
			continue
		}
		if lt.offsets[i], err = l.restoreFromTopic(ctx, t, st, rec.position(st.Source.Name)); err != nil {
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

// saidOf is what the group's positions say of a task: where its inputs go on, and the places in its changelogs.
func (s *session) saidOf(t taskRef, committed map[wire.TopicPartition]wire.Committed) (*taskRecord, targets, error) {
	rec := &taskRecord{}
	var to targets
	for _, in := range s.committable(t.sub) {
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
				return nil, nil, err
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
	if len(to) > 0 {
		return rec, to, nil
	}
	to = targets{}
	for _, st := range t.sub.Stores {
		tp := wire.TopicPartition{Topic: s.plan.changelogTopic(st.Name), Partition: int32(t.partition)}
		if c, ok := committed[tp]; ok {
			to[storeTag(st.Name)] = c.Offset
			m, err := parseMetadata(c.Metadata)
			if err != nil {
				return nil, nil, err
			}
			rec.n = max(rec.n, m.n)
		}
	}
	return rec, to, nil
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
