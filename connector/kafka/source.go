package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/serde"
)

// A TopicSource reads a topic, or several of the same form. Its methods return it, so that they chain; once a topology has it, it
// must not be changed.
//
// Only committed records are read. A null key makes a record without a key; a null value is a deletion, unless the value serde is
// serde.Optional. Headers are decoded when something in the topology looks at them.
type TopicSource[K, V any] struct {
	reading
	key      serde.Serde[K]
	value    serde.Serde[V]
	time     func(K, V) time.Time
	app      string
	registry serde.Registry
}

// Source reads topic with the given serdes. Default start: the committed position, else the earliest.
func Source[K, V any](topic string, key serde.Serde[K], value serde.Serde[V], opts ...SourceOption) *TopicSource[K, V] {
	s := &TopicSource[K, V]{key: key, value: value}
	s.topics = []string{topic}
	for _, o := range opts {
		if o != nil {
			o.source(&s.reading)
		}
	}
	return s
}

// Time takes the event time from the record instead of its timestamp. A zero time is a data error.
func (s *TopicSource[K, V]) Time(f func(K, V) time.Time) *TopicSource[K, V] {
	s.time = f
	return s
}

// Name is the topic's: of the first, if there are several.
func (s *TopicSource[K, V]) Name() string { return s.topics[0] }

// FromStart reports whether the source is one topic that is read from its beginning. For the engine.
func (s *TopicSource[K, V]) FromStart() bool {
	return s.pattern == nil && len(s.topics) == 1 && s.start == Earliest
}

// Serdes are the ones it was made with. For the engine.
func (s *TopicSource[K, V]) Serdes() (serde.Serde[K], serde.Serde[V]) { return s.key, s.value }

// Bind reports what is wrong with the source, and returns one whose serdes know the registry. For the engine, once at Build.
func (s *TopicSource[K, V]) Bind(app string, registry serde.Registry) (connector.Source[K, V], error) {
	bound := *s
	bound.app, bound.registry = app, registry
	var wrong []error
	for _, t := range s.topics {
		if t == "" {
			wrong = append(wrong, errors.New("kafka: a source needs the name of a topic"))
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(s.topics)))) < len(s.topics) {
		wrong = append(wrong, fmt.Errorf("kafka: source %q names a topic twice", s.Name()))
	}
	if s.start == atTime && s.reading.time.IsZero() {
		wrong = append(wrong, fmt.Errorf("kafka: source %q: StartAtTime needs a time", s.Name()))
	}
	for p, offset := range s.offsets {
		if p < 0 || offset < 0 {
			wrong = append(wrong, fmt.Errorf("kafka: source %q: StartAtOffsets has partition %d at offset %d", s.Name(), p, offset))
		}
	}
	_, _, err := bound.serdes()
	return &bound, errors.Join(append(wrong, err)...)
}

// serdes are those for the source's topic. Several topics are of one form, so they share the first one's.
func (s *TopicSource[K, V]) serdes() (serde.Serde[K], serde.Serde[V], error) {
	key, err := serde.Bind(s.key, serde.Binding{App: s.app, Topic: s.Name(), Key: true, Registry: s.registry})
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: source %q: key: %w", s.Name(), err)
	}
	value, err := serde.Bind(s.value, serde.Binding{App: s.app, Topic: s.Name(), Registry: s.registry})
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: source %q: value: %w", s.Name(), err)
	}
	return key, value, nil
}

// OnCluster, Topics, Offsets and Position let the engine commit positions to the group: see wire.Positions.
func (s *TopicSource[K, V]) OnCluster() any {
	if s.cluster == nil {
		return nil
	}
	return s.cluster
}

func (s *TopicSource[K, V]) Topics(ctx context.Context, l wire.Log) ([]string, error) {
	if s.pattern == nil {
		return s.topics, nil
	}
	found, err := l.Match(ctx, s.pattern)
	if err != nil {
		return nil, fmt.Errorf("kafka: source %q: topics that match %v: %w", s.Name(), s.pattern, err)
	}
	names := slices.Clone(s.topics[1:]) // those named by Topics are read in any case
	for _, n := range found {
		if whole := s.pattern.FindString(n); len(whole) == len(n) && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (s *TopicSource[K, V]) Offsets(_ int, position string) []wire.TopicOffset {
	at, err := decodePosition(connector.Position(position))
	if err != nil {
		return nil
	}
	return at
}

func (s *TopicSource[K, V]) Position(_ int, offsets []wire.TopicOffset) string {
	return string(encodePosition(slices.Clone(offsets)))
}

// WhenLost is where OnPositionLost says to go on. For the engine, where the topic is another one than that of the position.
func (s *TopicSource[K, V]) WhenLost() (wire.Where, bool) {
	switch s.lost {
	case GoOnEarliest:
		return wire.Start, true
	case GoOnLatest:
		return wire.End, true
	}
	return 0, false
}

// Partitions is the largest count among its topics. A topic that is named and missing is an error.
func (s *TopicSource[K, V]) Partitions(ctx context.Context, env connector.Env) (int, error) {
	found, err := s.Describe(ctx, env)
	most := 0
	for _, t := range found {
		most = max(most, int(t.Partitions))
	}
	return most, err
}

// Describe is what the cluster says of its topics. A topic that is named and missing is an error. For the engine.
func (s *TopicSource[K, V]) Describe(ctx context.Context, env connector.Env) (map[string]wire.Topic, error) {
	l, done, err := connected(ctx, s.cluster, env)
	if err != nil {
		return nil, err
	}
	defer done()
	names, err := s.Topics(ctx, l)
	if err != nil {
		return nil, err
	}
	found, err := l.Topics(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("kafka: source %q: %w", s.Name(), err)
	}
	var missing []string
	for _, n := range names {
		if _, ok := found[n]; !ok {
			missing = append(missing, n)
		}
	}
	if s.pattern == nil && len(missing) > 0 {
		return nil, fmt.Errorf("kafka: source %q: topic %s: %w: create it, or correct the name", s.Name(), strings.Join(missing, ", "), wire.ErrNoTopic)
	}
	return found, nil
}

// connected is the connection to use: the app's, or one of its own to the cluster that On names, which done closes.
func connected(ctx context.Context, c *Cluster, env connector.Env) (l wire.Log, done func(), err error) {
	switch {
	case c == nil && env.Log != nil:
		return env.Log, func() {}, nil
	case c != nil && connector.Cluster(c) == env.Cluster && env.Log != nil:
		return env.Log, func() {}, nil
	case c == nil:
		return nil, nil, errors.New("kafka: there is no cluster: set Config.Cluster, or name one with kafka.On")
	}
	l, err = c.Connect(ctx, env.App)
	if err != nil {
		return nil, nil, err
	}
	return l, func() { _ = l.Close() }, nil
}
