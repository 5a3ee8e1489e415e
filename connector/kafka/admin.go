package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// adminTimeout is how long a broker may take to carry a change out.
const adminTimeout = 10 * time.Second

// fenceTimeout is the transaction timeout of an id that is only taken over to lock its owner out.
const fenceTimeout = 10 * time.Second

// Topics is described at wire.Admin.
func (l *clusterLog) Topics(ctx context.Context, names ...string) (map[string]wire.Topic, error) {
	if len(names) == 0 {
		return nil, nil
	}
	known, err := l.dir.describe(ctx, names)
	if err != nil {
		return nil, err
	}
	configs, err := l.configs(ctx, slices.Sorted(maps.Keys(known)))
	if err != nil {
		return nil, fmt.Errorf("kafka: reading the settings of topics %s: %w", strings.Join(names, ", "), err)
	}
	out := make(map[string]wire.Topic, len(known))
	for name, t := range known {
		out[name] = wire.Topic{Name: name, ID: t.id, Partitions: int32(len(t.leaders)), Configs: configs[name]}
	}
	return out, nil
}

// configs reads the effective settings of topics.
func (l *clusterLog) configs(ctx context.Context, names []string) (out map[string]map[string]string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	err = l.dir.anyBroker(ctx, func(b *sarama.Broker) error {
		out, err = describeConfigs(b, sarama.TopicResource, names)
		return err
	})
	return out, err
}

func describeConfigs(b *sarama.Broker, kind sarama.ConfigResourceType, names []string) (map[string]map[string]string, error) {
	request := &sarama.DescribeConfigsRequest{Version: 2}
	for _, n := range names {
		request.Resources = append(request.Resources, &sarama.ConfigResource{Type: kind, Name: n})
	}
	answer, err := b.DescribeConfigs(request)
	if err != nil {
		return nil, err
	}
	out := make(map[string]map[string]string, len(names))
	for _, r := range answer.Resources {
		switch k := sarama.KError(r.ErrorCode); k {
		case sarama.ErrNoError:
		case sarama.ErrUnknownTopicOrPartition:
			continue // deleted since
		case sarama.ErrTopicAuthorizationFailed:
			continue // reading and writing a topic needs no right to see its settings
		default:
			return nil, fmt.Errorf("%s: %w", r.Name, k)
		}
		set := make(map[string]string, len(r.Configs))
		for _, c := range r.Configs {
			set[c.Name] = c.Value
		}
		out[r.Name] = set
	}
	return out, nil
}

// Match is described at wire.Admin.
func (l *clusterLog) Match(ctx context.Context, re *regexp.Regexp) (names []string, err error) {
	err = l.dir.anyBroker(ctx, func(b *sarama.Broker) error {
		answer, err := b.GetMetadata(sarama.NewMetadataRequest(l.settings.Version, nil))
		if err != nil {
			return err
		}
		for _, t := range answer.Topics {
			if !t.IsInternal && re.MatchString(t.Name) {
				names = append(names, t.Name)
			}
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// Create is described at wire.Admin. It returns when the topics' leaders are known.
func (l *clusterLog) Create(ctx context.Context, specs ...wire.TopicSpec) error {
	if len(specs) == 0 {
		return nil
	}
	request := &sarama.CreateTopicsRequest{Version: 4, Timeout: adminTimeout, TopicDetails: make(map[string]*sarama.TopicDetail)}
	for _, s := range specs {
		request.TopicDetails[s.Name] = detail(s)
	}
	names := slices.Sorted(maps.Keys(request.TopicDetails))
	err := l.persist(ctx, func() error {
		return l.atController(ctx, func(b *sarama.Broker) error {
			answer, err := b.CreateTopics(request)
			if err != nil {
				return err
			}
			for name, e := range answer.TopicErrors {
				if e.Err != sarama.ErrNoError && e.Err != sarama.ErrTopicAlreadyExists {
					return fmt.Errorf("topic %q: %w", name, withWords(e.Err, e.ErrMsg))
				}
			}
			return nil
		})
	})
	if err == nil {
		err = l.persist(ctx, func() error { return l.allLed(ctx, names) })
	}
	if err != nil {
		return fmt.Errorf("kafka: creating topics %s: %w", strings.Join(names, ", "), err)
	}
	return nil
}

func detail(s wire.TopicSpec) *sarama.TopicDetail {
	d := &sarama.TopicDetail{NumPartitions: s.Partitions, ReplicationFactor: s.Replication, ConfigEntries: make(map[string]*string)}
	if s.Replication == 0 {
		d.ReplicationFactor = -1
	}
	for k, v := range s.Configs {
		d.ConfigEntries[k] = &v
	}
	return d
}

// allLed reports that some topic is not usable yet.
func (l *clusterLog) allLed(ctx context.Context, names []string) error {
	known, err := l.dir.describe(ctx, names)
	if err != nil {
		return err
	}
	for _, n := range names {
		t := known[n]
		if t == nil || slices.ContainsFunc(t.leaders, func(l leader) bool { return l.addr == "" }) {
			return fmt.Errorf("topic %q: %w", n, sarama.ErrLeaderNotAvailable)
		}
	}
	return nil
}

// DeleteRecords is described at wire.Admin.
func (l *clusterLog) DeleteRecords(ctx context.Context, before map[wire.TopicPartition]int64) error {
	err := l.byLeader(ctx, slices.Collect(maps.Keys(before)), func(b *sarama.Broker, of []wire.TopicPartition) error {
		request := &sarama.DeleteRecordsRequest{Version: 1, Timeout: adminTimeout, Topics: make(map[string]*sarama.DeleteRecordsRequestTopic)}
		for _, at := range of {
			t := request.Topics[at.Topic]
			if t == nil {
				t = &sarama.DeleteRecordsRequestTopic{PartitionOffsets: make(map[int32]int64)}
				request.Topics[at.Topic] = t
			}
			t.PartitionOffsets[at.Partition] = before[at]
		}
		answer, err := b.DeleteRecords(request)
		if err != nil {
			return err
		}
		for name, t := range answer.Topics {
			for p, a := range t.Partitions {
				if a.Err != sarama.ErrNoError {
					return fmt.Errorf("topic %q partition %d: %w", name, p, a.Err)
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("kafka: deleting records: %w", err)
	}
	return nil
}

// OpenTransactions is described at wire.Admin. Every broker coordinates some ids, so all are asked; one that has only just come to coordinate
// some, as on a cluster that has never had a transaction, has to load them first.
func (l *clusterLog) OpenTransactions(ctx context.Context, prefix string) (out []wire.OpenTx, err error) {
	err = l.persist(ctx, func() error {
		out, err = l.openTransactions(ctx, prefix)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kafka: listing open transactions of %q: %w", prefix, err)
	}
	return out, nil
}

func (l *clusterLog) openTransactions(ctx context.Context, prefix string) (out []wire.OpenTx, err error) {
	if err := l.dir.refresh(ctx); err != nil {
		return nil, err
	}
	for _, addr := range l.dir.live() {
		err := l.pool.ask(ctx, addr, func(b *sarama.Broker) error {
			found, err := openAt(b, prefix)
			out = append(out, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func openAt(b *sarama.Broker, prefix string) ([]wire.OpenTx, error) {
	list, err := b.ListTransactions(&sarama.ListTransactionsRequest{DurationFilter: -1, StateFilters: []string{"Ongoing", "PrepareCommit", "PrepareAbort"}})
	if err != nil {
		return nil, err
	}
	if list.ErrorCode != sarama.ErrNoError {
		return nil, list.ErrorCode
	}
	request := new(sarama.DescribeTransactionsRequest)
	for _, t := range list.TransactionStates {
		if strings.HasPrefix(t.TransactionalID, prefix) {
			request.TransactionalIDs = append(request.TransactionalIDs, t.TransactionalID)
		}
	}
	if len(request.TransactionalIDs) == 0 {
		return nil, nil
	}
	states, err := b.DescribeTransactions(request)
	if err != nil {
		return nil, err
	}
	var out []wire.OpenTx
	for _, s := range states.TransactionStates {
		if passing(s.ErrorCode) {
			return nil, fmt.Errorf("transactional id %q: %w", s.TransactionalID, s.ErrorCode)
		}
		if s.ErrorCode == sarama.ErrNoError && s.TransactionStartTime >= 0 {
			out = append(out, wire.OpenTx{ID: s.TransactionalID, Started: time.UnixMilli(s.TransactionStartTime)})
		}
	}
	return out, nil
}

// Fence is described at wire.Admin. It takes the id over for a moment: its coordinator ends what is open and refuses whoever had it.
func (l *clusterLog) Fence(ctx context.Context, id string) error {
	err := l.persist(ctx, func() error {
		addr, err := l.dir.coordinator(ctx, sarama.CoordinatorTransaction, id)
		if err != nil {
			return err
		}
		return l.pool.ask(ctx, addr, func(b *sarama.Broker) error {
			_, err := initProducer(b, &id, fenceTimeout, producer{-1, -1})
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("kafka: fencing the transactional id %q: %w", id, err)
	}
	return nil
}

// MaxTransactionTimeout is described at wire.Admin.
func (l *clusterLog) MaxTransactionTimeout(ctx context.Context) (time.Duration, error) {
	var id string
	var configs map[string]map[string]string
	err := l.persist(ctx, func() (err error) {
		if err := l.dir.refresh(ctx); err != nil {
			return err
		}
		var addr string
		if id, addr = l.dir.someBroker(); addr == "" {
			return sarama.ErrBrokerNotAvailable // a cluster that starts answers before its brokers are known
		}
		return l.pool.ask(ctx, addr, func(b *sarama.Broker) (err error) {
			configs, err = describeConfigs(b, sarama.BrokerResource, []string{id}) // only the broker itself knows its settings
			return err
		})
	})
	if errors.Is(err, wire.ErrRefused) {
		return 0, nil // a principal may use transactions and not see the broker's settings
	}
	if err != nil {
		return 0, fmt.Errorf("kafka: reading the settings of broker %s: %w", id, err)
	}
	ms, err := strconv.ParseInt(configs[id]["transaction.max.timeout.ms"], 10, 64)
	if err != nil {
		return 0, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// withWords adds the broker's explanation to its error.
func withWords(k sarama.KError, words *string) error {
	if words == nil || *words == "" {
		return k
	}
	return fmt.Errorf("%w (%s)", k, *words)
}
