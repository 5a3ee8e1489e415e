package engine

import (
	"strconv"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// positionsOf are the positions of a task's cut as the group keeps them. The first one carries what else the checkpoint says of the
// task: each changelog's next offset, which is the exact target of a restore, and each the watermark of its input.
func (s *session) positionsOf(r *runner, cut *task.Cut) (out []wire.Position) {
	for _, in := range s.committable(r.sub) {
		pos := cut.Positions[in.input]
		if pos == "" {
			continue
		}
		for i, to := range in.offsets(r.t.Partition, string(pos)) {
			m := metadata{n: r.number(cut), mark: cut.Marks[in.input], upstream: cut.Upstream[in.input]}
			if len(out) == 0 {
				m.changelogs, m.logs = r.logged.targets(r.sub), s.logIDs[r.sub]
			}
			m.topic = idOf(s.inputIDs(r.sub, in.name), to.Topic)
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
		switch {
		case st.Changelog:
			to[storeTag(st.Name)] = t.offsets[i]
		case st.Source != nil: // restored to a position: that there was such a store is all there is to say
			to[topicTag(st.Name)] = 0
		}
	}
	return to
}

// changelogPositions are those of a task that has no position of its own, behind a local exchange: the places in its changelogs.
func (s *session) changelogPositions(r *runner, cut *task.Cut) (out []wire.Position) {
	for i, st := range r.sub.Stores {
		if st.Changelog {
			topic := s.plan.changelogTopic(st.Name)
			m := metadata{n: r.number(cut), mark: task.NewMark(), topic: s.topics[topic].ID}
			out = append(out, wire.Position{
				TopicPartition: wire.TopicPartition{Topic: topic, Partition: int32(r.t.Partition)},
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

// said is what the group's positions say of a task: where its inputs go on, and the places in its changelogs.
type said struct {
	*taskRecord
	to  targets
	toN uint64 // the checkpoint that says where these places are
}

// saidOf reads it.
func (s *session) saidOf(t taskRef, committed map[wire.TopicPartition]wire.Committed) (*said, error) {
	rec := &said{taskRecord: &taskRecord{}}
	for _, in := range s.committable(t.sub) {
		var offsets []wire.TopicOffset
		mark := task.NewMark()
		var upstream []task.Mark
		var ids []topicID
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
				if err := s.checkLogs(t, m.logs); err != nil {
					return nil, err
				}
				if rec.to == nil || m.n >= rec.toN { // another input may have said so once, and have been moved back to it
					rec.to, rec.toN = m.changelogs, m.n
				}
			}
			if len(m.upstream) > 0 {
				upstream = m.upstream
			}
			rec.n = max(rec.n, m.n)
			mark.W, mark.High = max(mark.W, m.mark.W), max(mark.High, m.mark.High)
			offsets = append(offsets, wire.TopicOffset{Topic: topic, Offset: c.Offset})
			if m.topic != "" {
				ids = append(ids, topicID{topic, m.topic})
			}
		}
		if len(offsets) > 0 {
			rec.inputs = append(rec.inputs, inputRecord{in.name, connector.Position(in.position(t.partition, offsets)), mark, upstream, ids})
		}
	}
	if len(rec.to) > 0 {
		return rec, nil
	}
	return rec, s.placesOf(t, committed, rec)
}

// placesOf are those in the changelogs of a task that has no position of its own.
func (s *session) placesOf(t taskRef, committed map[wire.TopicPartition]wire.Committed, rec *said) error {
	rec.to = targets{}
	for _, st := range t.sub.Stores {
		tp := wire.TopicPartition{Topic: s.plan.changelogTopic(st.Name), Partition: int32(t.partition)}
		c, ok := committed[tp]
		if !ok {
			continue
		}
		m, err := parseMetadata(c.Metadata)
		if err != nil {
			return err
		}
		if now := s.topics[tp.Topic].ID; m.topic != "" && now != "" && escapeID.Replace(now) != m.topic {
			return madeAnew("changelog "+tp.Topic, m.topic, now, "")
		}
		if len(rec.to) == 0 || m.n < rec.toN {
			rec.toN = m.n
		}
		rec.to[storeTag(st.Name)] = c.Offset
		rec.n = max(rec.n, m.n)
	}
	return nil
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
