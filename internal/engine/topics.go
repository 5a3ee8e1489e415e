package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weirstream/weir/internal/wire"
)

// The names of internal topics.
func (p *Plan) exchangeTopic(x *Exchange) string   { return p.App + "-" + x.Name }
func (p *Plan) changelogTopic(store string) string { return p.App + "-" + store + "-changelog" }
func (p *Plan) outboxTopic(node string) string     { return p.App + "-" + node + "-outbox" }
func (p *Plan) tasksTopic() string                 { return p.App + "-tasks" }

// The settings that internal topics must have. Event times may be of any age and some way ahead: with a broker's defaults, records of
// 2013 are deleted unread, and a time that is an hour ahead is refused.
var (
	exchangeConfigs = map[string]string{
		"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "message.timestamp.type": "CreateTime",
		"message.timestamp.before.max.ms": maxInt64, "message.timestamp.after.max.ms": maxInt64,
	}
	compactedConfigs = map[string]string{
		"cleanup.policy": "compact", "message.timestamp.type": "CreateTime",
		"message.timestamp.before.max.ms": maxInt64, "message.timestamp.after.max.ms": maxInt64,
	}
)

const maxInt64 = "9223372036854775807"

// internalTopics are those that the plan needs, with their partitions.
func (s *session) internalTopics() []wire.TopicSpec {
	specs := []wire.TopicSpec{{Name: s.plan.tasksTopic(), Partitions: 1, Configs: compactedConfigs}}
	for _, sub := range s.plan.Subs {
		for _, x := range sub.In {
			if !s.config.local(x) {
				specs = append(specs, wire.TopicSpec{Name: s.plan.exchangeTopic(x), Partitions: int32(s.counts[sub]), Configs: exchangeConfigs})
			}
		}
		for _, node := range sub.Outboxes {
			specs = append(specs, wire.TopicSpec{Name: s.plan.outboxTopic(node), Partitions: int32(s.counts[sub]), Configs: exchangeConfigs})
		}
		for _, st := range sub.Stores {
			if st.Changelog {
				specs = append(specs, wire.TopicSpec{Name: s.plan.changelogTopic(st.Name), Partitions: int32(s.counts[sub]), Configs: compactedConfigs})
			}
		}
	}
	return specs
}

// ensureTopics makes the internal topics that are missing and verifies all.
func (s *session) ensureTopics(ctx context.Context) error {
	specs := s.internalTopics()
	if err := s.base.log.Create(ctx, specs...); err != nil {
		return fmt.Errorf("create internal topics: %w", err)
	}
	names := make([]string, len(specs))
	for i, t := range specs {
		names[i] = t.Name
	}
	found, err := s.base.log.Topics(ctx, names...)
	if err != nil {
		return fmt.Errorf("verify internal topics: %w", err)
	}
	s.topics = found
	var problems []error
	for _, want := range specs {
		problems = append(problems, verifyTopic(want, found))
	}
	return errors.Join(problems...)
}

// verifyTopic compares a topic with what it must be. Settings that the cluster does not report are not judged.
func verifyTopic(want wire.TopicSpec, found map[string]wire.Topic) error {
	t, ok := found[want.Name]
	if !ok {
		return fmt.Errorf("%w: internal topic %s was not created: is the app allowed to create topics?", ErrTopic, want.Name)
	}
	var problems []error
	if t.Partitions != want.Partitions {
		problems = append(problems, fmt.Errorf("%w: internal topic %s has %d partitions, and the topology needs %d: "+
			"state is kept by partition, so the count cannot change; use another app name, or delete the app's topics and state to begin anew",
			ErrTopic, want.Name, t.Partitions, want.Partitions))
	}
	for key, value := range want.Configs {
		got, known := t.Configs[key]
		if known && got != value && !sameNumber(got, value) {
			problems = append(problems, fmt.Errorf("%w: internal topic %s has %s=%s, and must have %s: records would be lost or refused",
				ErrTopic, want.Name, key, got, value))
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return compareText(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

// sameNumber: a retention that is longer than any record's life is as good as none.
func sameNumber(got, want string) bool {
	a, errA := strconv.ParseInt(got, 10, 64)
	b, errB := strconv.ParseInt(want, 10, 64)
	return errA == nil && errB == nil && a == b
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// taskRefs are all tasks of the plan with the partitions that each holds.
func (s *session) taskRefs() []taskRef {
	var refs []taskRef
	for _, sub := range s.plan.Subs {
		for p := range s.counts[sub] {
			t := taskRef{sub: sub, partition: p}
			t.id = t.name()
			for _, topic := range s.inputTopics(sub) {
				if p < topic.partitions {
					t.partitions = append(t.partitions, wire.TopicPartition{Topic: topic.name, Partition: int32(p)})
				}
			}
			refs = append(refs, t)
		}
	}
	return refs
}

// An inputTopic is a topic of the app's cluster that a sub-topology reads.
type inputTopic struct {
	name       string
	partitions int
}

// inputTopics lists them: those of sources on the app's cluster, and of exchanges through it.
func (s *session) inputTopics(sub *Sub) (out []inputTopic) {
	for _, src := range sub.Sources {
		for _, name := range s.sourceNames[src] {
			out = append(out, inputTopic{name, int(s.sourceTopics[name].Partitions)})
		}
	}
	for _, x := range sub.In {
		if !s.config.local(x) {
			out = append(out, inputTopic{s.plan.exchangeTopic(x), s.counts[sub]})
		}
	}
	return out
}

// onCluster reports whether a source's positions can be committed to the app's group.
func (s *session) onCluster(src *Source) bool {
	if src.Positions == nil {
		return false
	}
	on := src.Positions.OnCluster()
	return on == nil || on == any(s.config.Cluster)
}

// describeSources finds the topics of sources, and their partitions.
func (s *session) describeSources(ctx context.Context) error {
	var all []string
	s.sourceNames = map[*Source][]string{}
	for _, sub := range s.plan.Subs {
		for _, src := range sub.Sources {
			if s.base.log == nil || !s.onCluster(src) {
				continue
			}
			names, err := src.Positions.Topics(ctx, s.base.log)
			if err != nil {
				return fmt.Errorf("source %s: %w", src.Name, topicError(err))
			}
			s.sourceNames[src] = names
			all = append(all, names...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	var err error
	s.sourceTopics, err = s.base.log.Topics(ctx, all...)
	return err
}

// isExchangeTopic reports whether a topic is one of the plan's exchanges.
func (s *session) isExchangeTopic(name string) bool {
	for _, sub := range s.plan.Subs {
		for _, x := range sub.In {
			if !s.config.local(x) && s.plan.exchangeTopic(x) == name {
				return true
			}
		}
	}
	return false
}

// topicError gives a topic that is not there the name that users compare with.
func topicError(err error) error {
	if errors.Is(err, wire.ErrNoTopic) {
		return fmt.Errorf("%w: %w", ErrTopic, err)
	}
	return err
}
