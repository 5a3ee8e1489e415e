package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
)

// A TopicSink writes a topic, or with Route one that each record picks. Its methods return it, so that they chain; once a
// topology has it, it must not be changed.
//
// A deletion is written as a null value, and so is the nil of a serde.Optional; a record without a key gets a null key.
type TopicSink[K, V any] struct {
	writing
	topic     string
	key       serde.Serde[K]
	value     serde.Serde[V]
	route     func(r *connector.Record[K, V]) string
	partition func(r *connector.Record[K, V], n int) int
	app       string
	registry  serde.Registry
}

// Sink writes topic with the given serdes and Kafka's own partitioner: records of a key go where any Java client would put them, those
// without a key to one partition after the other.
func Sink[K, V any](topic string, key serde.Serde[K], value serde.Serde[V], opts ...SinkOption) *TopicSink[K, V] {
	s := &TopicSink[K, V]{topic: topic, key: key, value: value}
	for _, o := range opts {
		if o != nil {
			o.sink(&s.writing)
		}
	}
	return s
}

// Route picks the topic per record; "" drops the record and counts it. The sink's own topic stays its name.
func (s *TopicSink[K, V]) Route(f func(r *connector.Record[K, V]) string) *TopicSink[K, V] {
	s.route = f
	return s
}

// Partition picks the partition of n per record, from 0 to n-1; another is a data error.
func (s *TopicSink[K, V]) Partition(f func(r *connector.Record[K, V], n int) int) *TopicSink[K, V] {
	s.partition = f
	return s
}

// Name is the topic's.
func (s *TopicSink[K, V]) Name() string { return s.topic }

// Serdes are the ones it was made with. For the engine.
func (s *TopicSink[K, V]) Serdes() (serde.Serde[K], serde.Serde[V]) { return s.key, s.value }

// OnCluster is described at wire.InLog.
func (s *TopicSink[K, V]) OnCluster() any {
	if s.cluster == nil {
		return nil
	}
	return s.cluster
}

// Bind reports what is wrong with the sink, and returns one whose serdes know the registry. For the engine, once at Build.
func (s *TopicSink[K, V]) Bind(app string, registry serde.Registry) (connector.Sink[K, V], error) {
	bound := *s
	bound.app, bound.registry = app, registry
	var wrong []error
	if s.topic == "" {
		wrong = append(wrong, errors.New("kafka: a sink needs the name of a topic"))
	}
	if s.partitions < 0 || s.replication < 0 || s.replication > 1<<15-1 {
		wrong = append(wrong, fmt.Errorf("kafka: sink %q: Create(%d, %d) is not possible", s.topic, s.partitions, s.replication))
	}
	_, _, err := bound.serdes(s.topic)
	return &bound, errors.Join(append(wrong, err)...)
}

func (s *TopicSink[K, V]) serdes(topic string) (serde.Serde[K], serde.Serde[V], error) {
	key, err := serde.Bind(s.key, serde.Binding{App: s.app, Topic: topic, Key: true, Writes: true, Registry: s.registry})
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: sink %q: key: %w", topic, err)
	}
	value, err := serde.Bind(s.value, serde.Binding{App: s.app, Topic: topic, Writes: true, Registry: s.registry})
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: sink %q: value: %w", topic, err)
	}
	return key, value, nil
}

// Open is called once per task. Inside the commit log it appends to env.Appender and never waits; elsewhere (another cluster, the
// local commit log) it has a writer of its own, and records are there at least once when Flush has returned.
func (s *TopicSink[K, V]) Open(ctx context.Context, env connector.Env, task connector.Task) (connector.Writer[K, V], error) {
	l, done, err := connected(ctx, s.cluster, env)
	if err != nil {
		return nil, err
	}
	w := &sinkWriter[K, V]{sink: s, log: l, done: done, appender: env.Appender, first: int32(task.Partition), topics: make(map[string]*sinkTopic[K, V])}
	if w.appender == nil {
		err = w.openOwn(ctx, env, task)
	}
	if err == nil && s.route == nil {
		// The topic of a sink with a route is its name only.
		_, err = w.open(ctx, s.topic)
	}
	if err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("kafka: sink %q: %w", s.topic, err)
	}
	return w, nil
}

// A sinkTopic is a topic that a task writes to.
type sinkTopic[K, V any] struct {
	wire.Out
	key       serde.Serde[K]
	value     serde.Serde[V]
	keyless   bool
	nullKey   serde.Nullable[K]
	nullValue serde.Nullable[V]
	limits    timeLimits
	spread    spread
	missing   error     // it cannot be written to, as far as is known
	until     time.Time // when that is looked at again
}

// missingFor is how long a topic that a route names and that does not exist is not asked for again.
const missingFor = 5 * time.Second

// open finds a topic, making it when the sink says so. The cluster is asked for it once for all tasks that share a writer: tasks that come to a
// process are made while others wait for their checkpoints.
func (w *sinkWriter[K, V]) open(ctx context.Context, name string) (*sinkTopic[K, V], error) {
	t := &sinkTopic[K, V]{spread: spread{at: w.first}}
	var err error
	t.Out, err = w.appender.To(ctx, name)
	if errors.Is(err, wire.ErrNoTopic) {
		if w.sink.partitions == 0 {
			return nil, fmt.Errorf("topic %q: %w: create it, or let the sink do so with kafka.Create", name, wire.ErrNoTopic)
		}
		spec := wire.TopicSpec{Name: name, Partitions: int32(w.sink.partitions), Replication: int16(w.sink.replication)}
		if err := w.log.Create(ctx, spec); err != nil {
			return nil, err
		}
		t.Out, err = w.appender.To(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	t.limits = limitsOf(t.Topic().Configs)
	if t.key, t.value, err = w.sink.serdes(name); err != nil {
		return nil, err
	}
	_, t.keyless = t.key.(serde.Keyless)
	t.nullKey, _ = t.key.(serde.Nullable[K])
	t.nullValue, _ = t.value.(serde.Nullable[V])
	w.topics[name] = t
	return t, nil
}

// timeLimits are what a topic says about the times of records, in milliseconds from the broker's clock; negative is no limit.
type timeLimits struct {
	before, after int64
	seen          int64 // the clock as it was read last
}

func limitsOf(configs map[string]string) timeLimits {
	if configs["message.timestamp.type"] == "LogAppendTime" {
		return timeLimits{before: -1, after: -1} // the broker writes its own
	}
	return timeLimits{before: milliseconds(configs["message.timestamp.before.max.ms"]), after: milliseconds(configs["message.timestamp.after.max.ms"])}
}

// milliseconds is a setting; the largest number there is means no limit.
func milliseconds(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n == 1<<63-1 {
		return -1
	}
	return n
}

// check reads the clock only where it may matter: it goes on, so a time that was not too far ahead of it is not now.
func (l *timeLimits) check(at int64, now func() time.Time) error {
	if at < 0 {
		return fmt.Errorf("the record's time %v is before 1970, which Kafka cannot store", toTime(at))
	}
	if l.before < 0 && (l.after < 0 || at <= l.seen+l.after) {
		return nil
	}
	l.seen = now().UnixMilli()
	switch ahead := at - l.seen; {
	case l.after >= 0 && ahead > l.after:
		return fmt.Errorf("the record's time %v is %v ahead, the topic's message.timestamp.after.max.ms is %d", toTime(at), time.Duration(ahead)*time.Millisecond, l.after)
	case l.before >= 0 && -ahead > l.before:
		return fmt.Errorf("the record's time %v is %v old, the topic's message.timestamp.before.max.ms is %d", toTime(at), time.Duration(-ahead)*time.Millisecond, l.before)
	}
	return nil
}
