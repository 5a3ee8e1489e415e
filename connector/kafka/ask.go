package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// persist tries again while the cluster says that it is busy with itself: a moved leader or coordinator, a topic that is not known
// everywhere yet. Broken connections are the caller's to judge, except for the first few.
func (l *clusterLog) persist(ctx context.Context, try func() error) error {
	wait := newBackoff()
	for broken := 0; ; {
		err := try()
		switch {
		case err == nil, errors.Is(err, wire.ErrNoTopic), errors.Is(err, wire.ErrRefused), errors.Is(err, wire.ErrFenced), errors.Is(err, wire.ErrGeneration), errors.Is(err, errClosed):
			return err
		case passing(code(err)):
		case code(err) != sarama.ErrNoError:
			return err
		default:
			if broken++; broken > 3 {
				return err
			}
		}
		if !wait.sleep(ctx, time.Time{}) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// passing reports whether an error of the broker goes away by waiting.
func passing(k sarama.KError) bool {
	switch k {
	case sarama.ErrLeaderNotAvailable, sarama.ErrNotLeaderForPartition, sarama.ErrRequestTimedOut, sarama.ErrBrokerNotAvailable,
		sarama.ErrReplicaNotAvailable, sarama.ErrNetworkException, sarama.ErrNotController, sarama.ErrOffsetsLoadInProgress,
		sarama.ErrConsumerCoordinatorNotAvailable, sarama.ErrNotCoordinatorForConsumer, sarama.ErrConcurrentTransactions,
		sarama.ErrTransactionCoordinatorFenced, sarama.ErrOffsetNotAvailable, sarama.ErrFencedLeaderEpoch, sarama.ErrUnknownLeaderEpoch,
		sarama.ErrUnstableOffsetCommit, sarama.ErrRebalanceInProgress, sarama.ErrThrottlingQuotaExceeded, sarama.ErrKafkaStorageError:
		return true
	}
	return false
}

// byLeader sends requests about partitions to those who lead them, and again to the new leaders of those that have moved. request
// must be harmless when it is repeated.
func (l *clusterLog) byLeader(ctx context.Context, of []wire.TopicPartition, request func(*sarama.Broker, []wire.TopicPartition) error) error {
	return l.persist(ctx, func() error {
		groups := make(map[string][]wire.TopicPartition)
		for _, at := range of {
			to, err := l.dir.lead(ctx, at)
			if err != nil {
				return err
			}
			groups[to.addr] = append(groups[to.addr], at)
		}
		for addr, group := range groups {
			if err := l.pool.ask(ctx, addr, func(b *sarama.Broker) error { return request(b, group) }); err != nil {
				for _, at := range group {
					l.dir.forget(at)
				}
				return err
			}
		}
		return nil
	})
}

// atController runs a request on the controller.
func (l *clusterLog) atController(ctx context.Context, request func(*sarama.Broker) error) error {
	if err := l.dir.refresh(ctx); err != nil {
		return err
	}
	addr, ok := l.dir.controllerAddr()
	if !ok {
		return sarama.ErrNotController
	}
	return l.pool.ask(ctx, addr, request)
}

// atGroup runs a request on a group's coordinator. Who that is is remembered until a request fails.
func (l *clusterLog) atGroup(ctx context.Context, group string, request func(*sarama.Broker) error) error {
	l.mu.Lock()
	addr := l.mu.coordinators[group]
	l.mu.Unlock()
	if addr == "" {
		var err error
		if addr, err = l.dir.coordinator(ctx, sarama.CoordinatorGroup, group); err != nil {
			return err
		}
	}
	err := l.pool.ask(ctx, addr, request)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		addr = ""
	}
	l.mu.coordinators[group] = addr
	return err
}
