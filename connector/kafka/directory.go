package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// A directory knows which broker leads which partition and which coordinates what. What it knows may be old: whoever finds out
// asks it to look again. It asks on connections of its own.
type directory struct {
	pool    *pool
	seeds   []string
	looking chan struct{} // holds one token: who has it asks the cluster
	mu      struct {
		sync.Mutex
		clusterID  string
		controller int32
		brokers    map[int32]string
		topics     map[string]*topicEntry
	}
}

type topicEntry struct {
	id      string
	leaders []leader // by partition
	asked   time.Time
}

// A leader is the broker that leads a partition. The zero address is none.
type leader struct {
	addr  string
	epoch int32
}

func newDirectory(d *dialer, seeds []string) *directory {
	x := &directory{pool: &pool{dialer: d}, seeds: seeds, looking: make(chan struct{}, 1)}
	x.mu.topics = make(map[string]*topicEntry)
	return x
}

func (x *directory) close() { x.pool.close() }

// leader is what is known of a partition without asking.
func (x *directory) leader(at wire.TopicPartition) (leader, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.mu.topics[at.Topic]
	if t == nil || int(at.Partition) >= len(t.leaders) || t.leaders[at.Partition].addr == "" {
		return leader{}, false
	}
	return t.leaders[at.Partition], true
}

// lead asks for a partition's leader if it is not known.
func (x *directory) lead(ctx context.Context, at wire.TopicPartition) (leader, error) {
	if l, ok := x.leader(at); ok {
		return l, nil
	}
	topics, err := x.describe(ctx, []string{at.Topic})
	if err != nil {
		return leader{}, err
	}
	if t := topics[at.Topic]; t == nil || int(at.Partition) >= len(t.leaders) {
		return leader{}, fmt.Errorf("kafka: topic %q partition %d: %w", at.Topic, at.Partition, wire.ErrNoTopic)
	}
	if l, ok := x.leader(at); ok {
		return l, nil
	}
	return leader{}, fmt.Errorf("kafka: topic %q partition %d has no leader now: %w", at.Topic, at.Partition, sarama.ErrLeaderNotAvailable)
}

// describe asks for topics. Those that do not exist are missing from the answer.
func (x *directory) describe(ctx context.Context, names []string) (map[string]*topicEntry, error) {
	if err := x.refresh(ctx, names...); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make(map[string]*topicEntry, len(names))
	for _, n := range names {
		if t := x.mu.topics[n]; t != nil {
			out[n] = t
		}
	}
	return out, nil
}

// refresh asks the cluster about topics, or about its brokers alone. An answer that another got after this call began will do.
func (x *directory) refresh(ctx context.Context, names ...string) error {
	began := time.Now()
	select {
	case x.looking <- struct{}{}:
		defer func() { <-x.looking }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if len(names) > 0 && x.allAskedSince(began, names) {
		return nil
	}
	answer, err := x.metadata(ctx, names)
	if err != nil {
		return err
	}
	return x.learn(names, answer)
}

func (x *directory) allAskedSince(t time.Time, names []string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !slices.ContainsFunc(names, func(n string) bool { e := x.mu.topics[n]; return e == nil || e.asked.Before(t) })
}

// metadata asks one broker after the other until one answers. With no names it asks about a topic that cannot exist: an empty
// list would mean all topics.
func (x *directory) metadata(ctx context.Context, names []string) (*sarama.MetadataResponse, error) {
	if len(names) == 0 {
		names = []string{"?"}
	}
	var answer *sarama.MetadataResponse
	err := x.anyBroker(ctx, func(b *sarama.Broker) (err error) {
		request := sarama.NewMetadataRequest(x.pool.settings.Version, names)
		answer, err = b.GetMetadata(request)
		return err
	})
	return answer, err
}

// anyBroker runs a request on the first broker that answers.
func (x *directory) anyBroker(ctx context.Context, request func(*sarama.Broker) error) error {
	var failed []error
	for _, addr := range x.addresses() {
		err := x.pool.ask(ctx, addr, request)
		if err == nil {
			return nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil || errors.Is(err, wire.ErrRefused) {
			break
		}
	}
	return errors.Join(failed...)
}

// addresses are all brokers that are known, and the seeds in case all have moved.
func (x *directory) addresses() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := slices.Sorted(maps.Values(x.mu.brokers))
	for _, s := range x.seeds {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func (x *directory) learn(names []string, m *sarama.MetadataResponse) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.ClusterID != nil {
		if x.mu.clusterID != "" && x.mu.clusterID != *m.ClusterID {
			return fmt.Errorf("kafka: %v answered for cluster %q, the app uses %q: %w", x.seeds, *m.ClusterID, x.mu.clusterID, wire.ErrRefused)
		}
		x.mu.clusterID = *m.ClusterID
	}
	x.mu.controller = m.ControllerID
	x.mu.brokers = make(map[int32]string, len(m.Brokers))
	for _, b := range m.Brokers {
		x.mu.brokers[b.ID()] = b.Addr()
	}
	now := time.Now()
	for _, t := range m.Topics {
		if !slices.Contains(names, t.Name) {
			continue
		}
		switch t.Err {
		case sarama.ErrNoError, sarama.ErrLeaderNotAvailable:
			x.mu.topics[t.Name] = x.entryLocked(t, now)
		case sarama.ErrUnknownTopicOrPartition:
			delete(x.mu.topics, t.Name)
		default:
			return fmt.Errorf("kafka: topic %q: %w", t.Name, named(t.Err))
		}
	}
	return nil
}

func (x *directory) entryLocked(t *sarama.TopicMetadata, now time.Time) *topicEntry {
	e := &topicEntry{leaders: make([]leader, len(t.Partitions)), asked: now}
	if t.Uuid != (sarama.Uuid{}) {
		e.id = t.Uuid.String()
	}
	for _, p := range t.Partitions {
		if p.ID >= 0 && int(p.ID) < len(e.leaders) {
			e.leaders[p.ID] = leader{addr: x.mu.brokers[p.Leader], epoch: p.LeaderEpoch}
		}
	}
	return e
}

// coordinator asks who coordinates a group or a transactional id. The answer is not kept: those who need it often keep it.
func (x *directory) coordinator(ctx context.Context, kind sarama.CoordinatorType, key string) (addr string, err error) {
	err = x.anyBroker(ctx, func(b *sarama.Broker) error {
		answer, err := b.FindCoordinator(&sarama.FindCoordinatorRequest{Version: 2, CoordinatorKey: key, CoordinatorType: kind})
		if err != nil {
			return err
		}
		if answer.Err != sarama.ErrNoError {
			return answer.Err
		}
		addr = answer.Coordinator.Addr()
		return nil
	})
	return addr, err
}

func (x *directory) clusterID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mu.clusterID
}

// forget makes the next one who needs a partition's leader ask.
func (x *directory) forget(at wire.TopicPartition) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.mu.topics[at.Topic]; t != nil && int(at.Partition) < len(t.leaders) {
		// Entries are replaced, never changed: others may hold this one.
		leaders := slices.Clone(t.leaders)
		leaders[at.Partition] = leader{}
		x.mu.topics[at.Topic] = &topicEntry{id: t.id, leaders: leaders, asked: t.asked}
	}
}

// live are the brokers of the last answer.
func (x *directory) live() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Values(x.mu.brokers))
}

// someBroker is one of them, with its number.
func (x *directory) someBroker() (id, addr string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for n, addr := range x.mu.brokers {
		return strconv.Itoa(int(n)), addr
	}
	return "", ""
}

func (x *directory) controllerAddr() (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	addr, ok := x.mu.brokers[x.mu.controller]
	return addr, ok
}
