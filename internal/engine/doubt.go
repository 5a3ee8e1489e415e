package engine

import (
	"slices"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// Positions of a checkpoint that wrote nothing are committed plainly. Where the answer is lost the commit is sent again, and what was sent first may
// still be carried out, behind the commits of later checkpoints: nothing but the group's generation fences it. So positions are doubted as long as
// that generation lasts. docs/adr/0076 has what follows from that, and why.

// doubts reports whether the group's positions may be moved back yet.
func (l *kafkaLog) doubts() bool {
	who, err := l.identity()
	return err == nil && l.s.base.log.Unanswered(who)
}

// askWhereDoubted asks for a round of the group where positions are doubted.
func (l *kafkaLog) askWhereDoubted() {
	if l.doubts() {
		l.doubt = true
		l.askForRound()
	}
}

// askForRound asks for a round of the group, once in a generation: in the next one nothing that was sent in this one is carried out.
func (l *kafkaLog) askForRound() {
	if l.seat.asks() {
		l.s.app.log.Info("asking the group for a round: a commit of positions has gone without an answer, and might still be carried out behind later ones")
	}
}

// sayAnew has all positions be committed again when nothing can move them back any more.
func (l *kafkaLog) sayAnew() {
	if l.doubt && !l.doubts() {
		clear(l.sent)
		l.doubt = false
	}
}

// number is that of a cut, as commits have it: greater than all that the task had in other processes.
func (r *runner) number(cut *task.Cut) uint64 { return cut.N + r.lift }

// putRight puts the task's own record in the place of what the group says of it and is older, where a late commit has moved that back. back: the places in
// changelogs are of before the record. It returns what else there is to take from the record; nil for nothing.
func (s *session) putRight(t taskRef, said *said, own *taskRecord, committed map[wire.TopicPartition]wire.Committed) (left *taskRecord, back bool, err error) {
	if own == nil || !own.doubted {
		return own, false, nil
	}
	for _, in := range s.committable(t.sub) {
		i := slices.IndexFunc(said.inputs, func(i inputRecord) bool { return i.name == in.name })
		j := slices.IndexFunc(own.inputs, func(i inputRecord) bool { return i.name == in.name })
		if i < 0 || j < 0 || own.inputs[j].position == "" {
			continue
		}
		if err := s.putForward(t, in, &said.inputs[i], own, &own.inputs[j], committed); err != nil {
			return nil, false, err
		}
	}
	back = len(said.to) > 0 && said.toN < own.n
	if !t.sub.Stateful() && !s.hasRecord(t.sub) { // it is there for this alone: positions that are gone begin as they would without it
		own = &taskRecord{n: own.n, handles: own.handles}
	}
	return own, back, nil
}

// putForward is putRight for one input.
func (s *session) putForward(t taskRef, in committableInput, now *inputRecord, own *taskRecord, was *inputRecord, committed map[wire.TopicPartition]wire.Committed) error {
	offsets := in.offsets(t.partition, string(now.position))
	moved := false
	for _, to := range in.offsets(t.partition, string(was.position)) {
		i := slices.IndexFunc(offsets, func(o wire.TopicOffset) bool { return o.Topic == to.Topic })
		if i < 0 {
			continue
		}
		c := committed[wire.TopicPartition{Topic: to.Topic, Partition: int32(t.partition)}]
		m, err := parseMetadata(c.Metadata)
		if err != nil {
			return err
		}
		id := idOf(was.topics, to.Topic)
		if c.Metadata == "" || m.n >= own.n || m.topic != "" && id != "" && m.topic != id {
			continue // it was reset by somebody, is newer than the record, or of another topic
		}
		now.mark.W, now.mark.High = max(now.mark.W, was.mark.W), max(now.mark.High, was.mark.High)
		if len(was.upstream) > 0 {
			now.upstream = was.upstream
		}
		if to.Offset > offsets[i].Offset {
			s.app.log.Warn("a commit of positions that had gone without an answer was carried out late and moved the group back: reading on from the task's own record",
				"task", t.name(), "topic", to.Topic, "partition", t.partition, "group", offsets[i].Offset, "record", to.Offset)
			offsets[i].Offset, moved = to.Offset, true
		}
	}
	if moved {
		now.position = connector.Position(in.position(t.partition, offsets))
	}
	return nil
}
