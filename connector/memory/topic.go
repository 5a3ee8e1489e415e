package memory

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirstream/weir/internal/wire"
)

// A topic is a name, settings and partitions.
type topic struct {
	name    string
	id      string
	configs map[string]string // all of them, with defaults
	parts   []*partition
	deleted bool

	// Settings that every append looks at.
	maxBytes  int
	maxAhead  int64 // milliseconds
	maxBehind int64
	logTime   bool
	compact   bool
	delete    bool
}

// defaults are Kafka's own.
var defaults = map[string]string{
	"cleanup.policy":                          "delete",
	"compression.type":                        "producer",
	"delete.retention.ms":                     "86400000",
	"max.compaction.lag.ms":                   "9223372036854775807",
	"max.message.bytes":                       "1048588",
	"message.timestamp.after.max.ms":          "3600000",
	"message.timestamp.before.max.ms":         "9223372036854775807",
	"message.timestamp.type":                  "CreateTime",
	"min.cleanable.dirty.ratio":               "0.5",
	"min.compaction.lag.ms":                   "0",
	"min.insync.replicas":                     "1",
	"retention.bytes":                         "-1",
	"retention.ms":                            "604800000",
	"segment.bytes":                           "1073741824",
	"segment.ms":                              "604800000",
	"segment.index.bytes":                     "10485760",
	"unclean.leader.election.enable":          "false",
	"file.delete.delay.ms":                    "60000",
	"flush.messages":                          "9223372036854775807",
	"flush.ms":                                "9223372036854775807",
	"index.interval.bytes":                    "4096",
	"preallocate":                             "false",
	"segment.jitter.ms":                       "0",
	"remote.storage.enable":                   "false",
	"local.retention.ms":                      "-2",
	"local.retention.bytes":                   "-2",
	"leader.replication.throttled.replicas":   "",
	"follower.replication.throttled.replicas": "",
}

// overhead is what a batch of one record adds to its key, value and headers, at most: Kafka limits the size of batches.
const overhead = 128

func (b *broker) create(spec wire.TopicSpec) error {
	if b.topics[spec.Name] != nil {
		return nil
	}
	if spec.Name == "" || spec.Partitions <= 0 {
		return fmt.Errorf("%w: topic %q with %d partitions", wire.ErrRefused, spec.Name, spec.Partitions)
	}
	t := &topic{name: spec.Name, configs: maps.Clone(defaults)}
	if err := t.configure(b.c.Configs); err != nil {
		return err
	}
	if err := t.configure(spec.Configs); err != nil {
		return err
	}
	b.topicsMade++
	t.id = fmt.Sprintf("topic-%d", b.topicsMade)
	t.grow(int(spec.Partitions))
	b.topics[t.name] = t
	b.wake()
	return nil
}

func (t *topic) grow(n int) {
	for i := len(t.parts); i < n; i++ {
		t.parts = append(t.parts, &partition{topic: t, index: int32(i)})
	}
}

// configure changes settings, all or none.
func (t *topic) configure(changes map[string]string) error {
	configs := maps.Clone(t.configs)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if _, ok := defaults[name]; !ok {
			return fmt.Errorf("%w: topic %s: unknown setting %s", wire.ErrRefused, t.name, name)
		}
		configs[name] = changes[name]
	}
	next := *t
	next.configs = configs
	for name, to := range map[string]*int64{"message.timestamp.after.max.ms": &next.maxAhead, "message.timestamp.before.max.ms": &next.maxBehind} {
		if err := next.number(name, to); err != nil {
			return err
		}
	}
	var size, ignored int64
	for _, name := range []string{"retention.ms", "retention.bytes", "delete.retention.ms", "min.compaction.lag.ms"} {
		if err := next.number(name, &ignored); err != nil {
			return err
		}
	}
	if err := next.number("max.message.bytes", &size); err != nil {
		return err
	}
	next.maxBytes = int(size)
	next.logTime = configs["message.timestamp.type"] == "LogAppendTime"
	next.compact, next.delete = false, false
	for policy := range strings.SplitSeq(configs["cleanup.policy"], ",") {
		switch strings.TrimSpace(policy) {
		case "compact":
			next.compact = true
		case "delete":
			next.delete = true
		default:
			return fmt.Errorf("%w: topic %s: cleanup.policy %q", wire.ErrRefused, t.name, configs["cleanup.policy"])
		}
	}
	*t = next
	return nil
}

func (t *topic) number(name string, to *int64) error {
	n, err := strconv.ParseInt(t.configs[name], 10, 64)
	if err != nil {
		return fmt.Errorf("%w: topic %s: %s=%q is no number", wire.ErrRefused, t.name, name, t.configs[name])
	}
	*to = n
	return nil
}

// setting is a numeric setting that configure has checked.
func (t *topic) setting(name string) int64 {
	var n int64
	_ = t.number(name, &n)
	return n
}

// lookup finds a topic, or makes it where the cluster does that.
func (b *broker) lookup(name string) (*topic, error) {
	if t := b.topics[name]; t != nil {
		return t, nil
	}
	if b.c.AutoCreate > 0 && name != "" && !internal(name) {
		if err := b.create(wire.TopicSpec{Name: name, Partitions: int32(b.c.AutoCreate)}); err != nil {
			return nil, err
		}
		return b.topics[name], nil
	}
	return nil, fmt.Errorf("topic %q: %w", name, wire.ErrNoTopic)
}

func (b *broker) partition(at wire.TopicPartition) (*partition, error) {
	t, err := b.lookup(at.Topic)
	if err != nil {
		return nil, err
	}
	if at.Partition < 0 || int(at.Partition) >= len(t.parts) {
		return nil, fmt.Errorf("partition %d of topic %q, which has %d: %w", at.Partition, at.Topic, len(t.parts), wire.ErrNoTopic)
	}
	return t.parts[at.Partition], nil
}

// internal reports whether a topic is the cluster's own.
func internal(name string) bool { return strings.HasPrefix(name, "__") }
