package kafka

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// requestBytes is about the size of a produce request when there is more to send than that.
const requestBytes = 4 << 20

// A sender produces on one connection to one broker for the lanes that it leads. Several requests are under way; no two of them have
// the same lane.
type sender struct {
	w      *writer
	addr   string
	ready  []*lane // w.mu
	wake   chan struct{}
	broken atomic.Bool // an answer did not come: the connection is of no more use
}

func newSender(w *writer, addr string) *sender {
	s := &sender{w: w, addr: addr, wake: make(chan struct{}, 1)}
	w.done.Go(s.run)
	return s
}

func (s *sender) run() {
	var c *conn
	defer func() {
		if c != nil {
			c.drop()
		}
	}()
	for {
		lanes := s.take()
		if lanes == nil {
			select {
			case <-s.wake:
				continue
			case <-s.w.ctx.Done():
				return
			}
		}
		if s.broken.CompareAndSwap(true, false) && c != nil {
			c.drop()
			c = nil
		}
		if c == nil {
			var err error
			if c, err = s.w.dialer.open(s.w.ctx, s.addr); err != nil {
				s.unsent(lanes, err)
				continue
			}
		}
		stop := c.during(s.w.ctx)
		s.send(c, lanes)
		stop()
	}
}

// take is what can be sent now, nil for nothing. Under transactions all of a request are of one transactional id.
func (s *sender) take() []*lane {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.ctx.Err() != nil || len(s.ready) == 0 {
		return nil
	}
	lanes := s.ready
	s.ready = nil
	return lanes
}

// unsent gives lanes back that could not be sent from here.
func (s *sender) unsent(lanes []*lane, err error) {
	if s.w.ctx.Err() != nil {
		return
	}
	s.w.often.warn(s.w.dialer.log, "cannot write, looking for the partitions' leaders", s.addr, "writer", s.w.how.Name, "partitions", len(lanes), "error", err)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, l := range lanes {
		s.w.log.dir.forget(l.at)
		s.w.strayLocked(l)
	}
}

// A shipment is the parcels of one request.
type shipment struct {
	request *sarama.ProduceRequest
	parcels []*parcel
	bytes   int
}

func (s *sender) send(c *conn, lanes []*lane) {
	var open [2]shipment // by transactional id
	for _, l := range lanes {
		id, txID := s.w.id, (*string)(nil)
		slot := 0
		if s.w.tx != nil {
			slot, txID, id = s.w.tx.identity(l)
		}
		p := l.head(id)
		sh := &open[slot]
		if sh.request == nil {
			sh.request = &sarama.ProduceRequest{
				Version: 8, TransactionalID: txID, RequiredAcks: sarama.WaitForAll, Timeout: int32(produceTimeout.Milliseconds()),
			}
		}
		sh.request.AddBatch(l.at.Topic, l.at.Partition, p.batch)
		sh.parcels = append(sh.parcels, p)
		if sh.bytes += p.bytes; sh.bytes >= requestBytes {
			s.ship(c, *sh)
			*sh = shipment{}
		}
	}
	for _, sh := range open {
		if sh.request != nil {
			s.ship(c, sh)
		}
	}
}

// ship sends a request. The answer comes on the connection's own goroutine, which must not use the connection.
func (s *sender) ship(c *conn, sh shipment) {
	err := c.AsyncProduce(sh.request, func(answer *sarama.ProduceResponse, err error) { s.answered(sh.parcels, answer, err) })
	if err != nil {
		s.answered(sh.parcels, nil, err)
	}
}

func (s *sender) answered(parcels []*parcel, answer *sarama.ProduceResponse, err error) {
	if err != nil {
		if s.w.ctx.Err() != nil {
			return
		}
		var bad sarama.PacketEncodingError
		if errors.As(err, &bad) {
			s.w.fail(fmt.Errorf("cannot encode a batch for topic %q: %w", parcels[0].lane.at.Topic, err))
			return
		}
		s.broken.Store(true)
		for _, p := range parcels {
			s.retry(p, err)
		}
		return
	}
	if answer.ThrottleTime > 0 {
		s.w.dialer.log.Debug("kafka: the broker throttles writes", "broker", s.addr, "for", answer.ThrottleTime)
	}
	for _, p := range parcels {
		block := answer.GetBlock(p.lane.at.Topic, p.lane.at.Partition)
		switch {
		case block == nil:
			s.retry(p, errors.New("the broker's answer leaves the partition out"))
		case block.Err == sarama.ErrNoError && block.Offset >= 0:
			s.w.acknowledged(p, block.Offset)
		case again(block.Err):
			s.retry(p, block.Err)
		default:
			s.w.fail(refusal(p, block))
		}
	}
}

// retry sends a parcel again, after a look for its leader. The sequence number keeps it from being written twice.
func (s *sender) retry(p *parcel, err error) {
	l := p.lane
	s.w.often.warn(s.w.dialer.log, "sending batches again", s.addr, "writer", s.w.how.Name, "topic", l.at.Topic, "partition", l.at.Partition, "error", err)
	l.again(p)
	s.w.log.dir.forget(l.at)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.strayLocked(l)
}

// again reports whether the same batch may be accepted later.
func again(k sarama.KError) bool {
	switch k {
	case sarama.ErrUnknownTopicOrPartition, sarama.ErrLeaderNotAvailable, sarama.ErrNotLeaderForPartition, sarama.ErrRequestTimedOut,
		sarama.ErrBrokerNotAvailable, sarama.ErrReplicaNotAvailable, sarama.ErrNetworkException, sarama.ErrNotEnoughReplicas,
		sarama.ErrNotEnoughReplicasAfterAppend, sarama.ErrKafkaStorageError, sarama.ErrThrottlingQuotaExceeded, sarama.ErrUnknown,
		sarama.ErrConcurrentTransactions, sarama.ErrFencedLeaderEpoch, sarama.ErrUnknownLeaderEpoch,
		sarama.ErrConsumerCoordinatorNotAvailable, sarama.ErrOffsetsLoadInProgress, sarama.ErrNotCoordinatorForConsumer:
		return true
	}
	return false
}

// refusal says what the broker will not take.
func refusal(p *parcel, block *sarama.ProduceResponseBlock) error {
	words := ""
	if block.ErrorMessage != nil {
		words = ": " + *block.ErrorMessage
	}
	return fmt.Errorf("topic %q partition %d refuses %d records of checkpoint %d with times from %v to %v%s: %w",
		p.lane.at.Topic, p.lane.at.Partition, len(p.records), p.n,
		time.UnixMilli(p.first).UTC(), time.UnixMilli(p.last).UTC(), words, named(block.Err))
}

var _ wire.Writer = (*writer)(nil)
