package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// A store whose rows are what a compacted topic says needs no changelog: it is restored from that topic, up to the committed position of the
// source that reads it. What is behind that position must not have compacted away what is before it; the topic's min.compaction.lag.ms is
// what rests on (docs/adr/0071).

// lag is how long a topic's records are left as they are, in ms.
func compactionLag(t wire.Topic) int64 {
	ms, _ := strconv.ParseInt(t.Configs["min.compaction.lag.ms"], 10, 64) // not said: none
	return ms
}

// logOf is the topic that a store is restored from.
func (s *session) logOf(st Store) wire.Topic {
	if st.Source == nil {
		return s.topics[s.plan.changelogTopic(st.Name)]
	}
	if names := s.sourceNames[st.Source]; len(names) == 1 {
		return s.sourceTopics[names[0]]
	}
	return wire.Topic{}
}

// changelogNames are the topics that stores are restored from.
func (s *session) changelogNames() map[string]string {
	names := map[string]string{}
	for _, sub := range s.plan.Subs {
		for _, st := range sub.Stores {
			if st.outlives() {
				names[st.Name] = s.logOf(st).Name
			}
		}
	}
	return names
}

// verifySources looks at the topics that are changelogs of their tables.
func (s *session) verifySources() error {
	var problems []error
	for _, sub := range s.plan.Subs {
		for _, st := range sub.Stores {
			if st.Source == nil {
				continue
			}
			if len(s.sourceNames[st.Source]) != 1 {
				problems = append(problems, fmt.Errorf("%w: table %s: its source is not one topic of the app's cluster, and cannot be its changelog", ErrConfig, st.Name))
				continue
			}
			t := s.logOf(st)
			if policy := t.Configs["cleanup.policy"]; policy != "compact" {
				problems = append(problems, fmt.Errorf("%w: topic %s is the changelog of table %s and has cleanup.policy=%s; it must have compact: else rows are deleted",
					ErrTopic, t.Name, st.Name, policy))
			}
			if compactionLag(t) <= 0 {
				problems = append(problems, fmt.Errorf("%w: topic %s is the changelog of table %s and has no min.compaction.lag.ms: compaction may take away what the "+
					"last commit needs; set it to longer than the app is ever down or behind", ErrTopic, t.Name, st.Name))
			}
		}
	}
	return errors.Join(problems...)
}

// placeInSource is the offset of a store's topic in a position of its source.
func placeInSource(st Store, partition int, at connector.Position) int64 {
	if at == "" {
		return 0
	}
	offsets := st.Source.Positions.Offsets(partition, string(at))
	if len(offsets) == 0 {
		return 0
	}
	return offsets[0].Offset
}

// topicTag stands in a commit for a store whose topic is its changelog.
func topicTag(store string) uint32 { return storeTag(store + "\x00topic") }

// neverLogged is the error of a store that shall have a changelog of its own and had its topic so far. The changelog is empty, and the records
// of the topic were processed already: the store would begin empty, without a word.
func (s *session) neverLogged(t taskRef, st Store) error {
	return fmt.Errorf("%w: store %s of task %s was restored from its source topic so far (TopicIsChangelog), and changelog %s has none of its rows; keep "+
		"TopicIsChangelog, or give the app another name, under which it reads its topics, the table's among them, from their start",
		ErrTopology, st.Name, t.name(), s.plan.changelogTopic(st.Name))
}

// missingOfTopics is how many records of topics that are changelogs a task's state lacks.
func (s *session) missingOfTopics(t taskRef, rec *taskRecord) (n int64, err error) {
	for _, st := range t.sub.Stores {
		if st.Source == nil {
			continue
		}
		have, err := s.changelogApplied(t, st)
		if err != nil {
			return 0, err
		}
		n += max(0, placeInSource(st, t.partition, rec.position(st.Source.Name))-have.offset)
	}
	return n, nil
}

// restoreFromTopic brings a store to the committed position of its source.
func (l *kafkaLog) restoreFromTopic(ctx context.Context, t taskRef, st Store, at connector.Position, p *progress) (int64, error) {
	s, topic := l.s, l.s.logOf(st)
	tp := wire.TopicPartition{Topic: topic.Name, Partition: int32(t.partition)}
	target := placeInSource(st, t.partition, at)
	have, err := s.changelogApplied(t, st)
	if err != nil {
		return 0, err
	}
	r := &restorer{l: l, t: t, st: st, tp: tp, at: have.offset, target: target, named: true,
		pace: &l.pace, moved: func(n int64) { p.add(n, s.now()) }, count: s.counter("weir_restored_records_total", "task", t.name()),
		began: s.now(), since: have.time, rows: keys.Rows(t.name(), st.Name)}
	switch {
	case have.topic != topic.ID && have.offset > 0: // the store had a changelog, or the topic was made anew
		r.rebuild = true
	case have.offset > target:
		return 0, fmt.Errorf("%w: the state on disk is at offset %d of %s/%d, and the group's committed position says %d: positions were reset under the app; "+
			"delete the app's state directory to begin anew", ErrTopology, have.offset, tp.Topic, tp.Partition, target)
	case have.offset == target:
		return target, nil
	case have.offset > 0 && s.now()-have.time > tombstones(topic):
		r.rebuild = true
	}
	if r.rebuild || have.offset == 0 {
		r.since = r.began
	}
	if r.rebuild {
		r.at = 0
		if err := r.clear(); err != nil {
			return 0, err
		}
	}
	if target == 0 {
		return 0, nil
	}
	return target, r.replayTopic(ctx)
}

// replayTopic reads the topic as its source does. Records behind the target are left for the source.
func (r *restorer) replayTopic(ctx context.Context) error {
	s := r.l.s
	starts, err := s.base.log.List(ctx, wire.Start, []wire.TopicPartition{r.tp})
	if err != nil {
		return err
	}
	r.at = max(r.at, starts[r.tp])
	env := s.base.env
	env.Headers = r.st.Source.Headers
	from := r.st.Source.Positions.Position(r.t.partition, []wire.TopicOffset{{Topic: r.tp.Topic, Offset: r.at}})
	rd, err := r.st.Source.Open(ctx, env, r.t.partition, connector.Position(from))
	if err != nil {
		return err
	}
	defer rd.Close()
	for r.at < r.target {
		b, err := rd.Next(s.patient(ctx))
		if err != nil {
			return fmt.Errorf("topic %s/%d at %d, before the committed position %d: %w", r.tp.Topic, r.tp.Partition, r.at, r.target, err)
		}
		bytes, was := b.Bytes(), r.at
		if err := r.take(b); err != nil {
			return err
		}
		r.moved(r.at - was)
		if r.at >= r.target {
			break
		}
		if r.run.Bytes() >= r.l.s.restoreBytes() {
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
		if err := r.pace.wait(ctx, bytes); err != nil {
			return err
		}
	}
	if err := r.intact(ctx); err != nil {
		return err
	}
	return r.flush(ctx)
}

// take adds a batch's rows.
func (r *restorer) take(b task.Batch) error {
	n := int64(0)
	err := r.st.Rows(b, r.target, func(key, row []byte) {
		n++
		r.key = append(append(r.key[:0], r.rows...), key...)
		if row == nil {
			r.run.Delete(r.key)
		} else {
			r.run.Put(r.key, row)
		}
	})
	r.count(n)
	if p, ok := b.(positioned); ok && p.End() != "" {
		r.at = max(r.at, placeInSource(r.st, r.t.partition, p.End()))
	}
	if held, ok := b.(interface{ Release() }); ok {
		held.Release()
	}
	return err
}

// intact is an error unless nothing behind the target can have been compacted, up to now: then nothing before it is missing for that. A broker
// leaves all alone that is younger than the topic's lag, and everything behind that.
func (r *restorer) intact(ctx context.Context) error {
	log, of := r.l.s.base.log, []wire.TopicPartition{r.tp}
	lag := compactionLag(r.l.s.logOf(r.st))
	young, err := log.ListAtTime(ctx, log.Now().Add(-time.Duration(lag)*time.Millisecond), of)
	if err != nil {
		return err
	}
	if young[r.tp] > r.target {
		return fmt.Errorf("%w: table %s cannot be restored from %s/%d to offset %d, which the last commit needs: records behind it are older than "+
			"min.compaction.lag.ms=%d, and may have taken away rows before it; to begin anew, delete the app's group, topics and state directory, and set a longer lag",
			ErrTopic, r.st.Name, r.tp.Topic, r.tp.Partition, r.target, lag)
	}
	return nil
}
