package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
)

// A position is a number, and says nothing in a topic that was deleted and made again under its name: with as many records as the one before, all that
// they replace would be taken for processed. So positions are kept with the topic's id, and compared at each start. A cluster
// that knows no ids is borne.

// A topicID is the identity of a topic.
type topicID struct{ topic, id string }

// idOf is the id of a topic among ids; "" when it is not known.
func idOf(ids []topicID, topic string) string {
	for _, t := range ids {
		if t.topic == topic {
			return t.id
		}
	}
	return ""
}

// An inputKey names an input of a sub-topology.
type inputKey struct {
	sub   *Sub
	input string
}

// inputIDs are the ids of the topics that an input reads, as they were when the session began.
func (s *session) inputIDs(sub *Sub, input string) []topicID { return s.topicIDs[inputKey{sub, input}] }

// learnIDs notes them. It follows describeSources, and with a cluster ensureTopics.
func (s *session) learnIDs(ctx context.Context) error {
	s.topicIDs, s.logIDs = map[inputKey][]topicID{}, map[*Sub]map[uint32]string{}
	for _, sub := range s.plan.Subs {
		s.logIDs[sub] = s.changelogIDs(sub)
		for _, src := range sub.Sources {
			found, err := s.topicsOf(ctx, src)
			if err != nil {
				return fmt.Errorf("source %s: %w", src.Name, topicError(err))
			}
			s.topicIDs[inputKey{sub, src.Name}] = idsOf(found)
		}
		for _, x := range sub.In {
			if !s.config.local(x) {
				topic := s.plan.exchangeTopic(x)
				s.topicIDs[inputKey{sub, x.Name}] = idsOf(map[string]wire.Topic{topic: s.topics[topic]})
			}
		}
	}
	return nil
}

// topicsOf describes the topics of a source, on the app's cluster or on another one.
func (s *session) topicsOf(ctx context.Context, src *Source) (map[string]wire.Topic, error) {
	names, here := s.sourceNames[src]
	switch {
	case here:
		found := map[string]wire.Topic{}
		for _, name := range names {
			found[name] = s.sourceTopics[name]
		}
		return found, nil
	case src.Positions == nil:
		return nil, nil
	}
	return src.Topics(ctx, s.base.env)
}

// idsOf are the ids that are known, in the order of names.
func idsOf(topics map[string]wire.Topic) (ids []topicID) {
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		if id := topics[name].ID; id != "" {
			ids = append(ids, topicID{name, escapeID.Replace(id)})
		}
	}
	return ids
}

// checkTopics compares the topics that a task's positions are in with those of now. Where one was made anew, the source's policy for lost positions
// says where to go on, or that it does not.
func (s *session) checkTopics(ctx context.Context, t taskRef, rec *taskRecord) error {
	for i := range rec.inputs {
		in := &rec.inputs[i]
		now := s.inputIDs(t.sub, in.name)
		for _, was := range in.topics {
			id := idOf(now, was.topic)
			if id == "" || id == was.id {
				continue
			}
			if err := s.moveOn(ctx, t, in, was, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// changelogIDs are the ids of a sub-topology's changelogs by the tags of their stores, as commits have them: escaped.
func (s *session) changelogIDs(sub *Sub) map[uint32]string {
	ids := map[uint32]string{}
	for _, st := range sub.Stores {
		if id := s.topics[s.plan.changelogTopic(st.Name)].ID; st.Changelog && id != "" {
			ids[storeTag(st.Name)] = escapeID.Replace(id)
		}
	}
	return ids
}

// checkLogs compares the changelogs that a commit of a task names places in with those of now. There is no policy for one that was made anew: what
// the state was is gone with it, unless it is on this disk, and nothing would keep a copy of it from then on.
func (s *session) checkLogs(t taskRef, were map[uint32]string) error {
	for _, st := range t.sub.Stores {
		tag := storeTag(st.Name)
		was, is := were[tag], s.logIDs[t.sub][tag]
		if was != "" && is != "" && was != is {
			return madeAnew("changelog "+s.plan.changelogTopic(st.Name), was, is, "")
		}
	}
	return nil
}

// moveOn takes an input to the place in a topic made anew that its source's policy names.
func (s *session) moveOn(ctx context.Context, t taskRef, in *inputRecord, was topicID, id string) error {
	src := t.sub.source(in.name)
	if src == nil {
		return madeAnew("repartition topic "+was.topic, was.id, id, "")
	}
	policy, _ := src.Positions.(wire.Losing)
	if policy == nil || s.sourceNames[src] == nil {
		return madeAnew("topic "+was.topic, was.id, id, "")
	}
	where, on := policy.WhenLost()
	if !on {
		return madeAnew("topic "+was.topic, was.id, id, "to go on with it and keep the state, decide with kafka.OnPositionLost where; ")
	}
	tp := wire.TopicPartition{Topic: was.topic, Partition: int32(t.partition)}
	found, err := s.base.log.List(ctx, where, []wire.TopicPartition{tp})
	if err != nil {
		return err
	}
	offsets := src.Positions.Offsets(t.partition, string(in.position))
	for i := range offsets {
		if offsets[i].Topic == was.topic {
			s.app.log.Warn("a topic was made anew, reading on elsewhere", "topic", tp.Topic, "partition", tp.Partition,
				"was", was.id, "is", id, "position", offsets[i].Offset, "at", found[tp])
			offsets[i].Offset = found[tp]
		}
	}
	in.position = connector.Position(src.Positions.Position(t.partition, offsets))
	return nil
}

// source is the source of an input; nil when an exchange feeds it.
func (sub *Sub) source(input string) *Source {
	for _, src := range sub.Sources {
		if src.Name == input {
			return src
		}
	}
	return nil
}

// madeAnew is the error of a topic that is not the one that positions are in.
func madeAnew(what, was, is, instead string) error {
	return fmt.Errorf("%w: %s was deleted and made anew: what is committed is of the one with id %s, and the one there now has id %s; "+
		"%sto begin anew, delete the app's group, topics and state directory, or use another app name", ErrTopic, what, was, is, instead)
}
