package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// A sender produces on one connection to one broker for the lanes that it leads. Several requests are under way; no two of them have
// the same lane.
type sender struct {
	w     *writer
	addr  string
	ready []*lane // w.mu
	wake  chan struct{}
	route *route // in use; nil before the first and after a broken one
}

// A route is a connection with what is under way on it.
type route struct {
	*pipe
	flying chan *shipment // in the order they were sent
	slots  chan struct{}  // one token for each that is under way
	slow   atomic.Int64   // the broker wants no request before, in Unix ms
	broken atomic.Bool    // an answer did not come: the connection is of no more use
}

// mostFlying is how many requests are under way on a connection.
const mostFlying = 5

func newSender(w *writer, addr string) *sender {
	s := &sender{w: w, addr: addr, wake: make(chan struct{}, 1)}
	w.done.Go(s.run)
	return s
}

func (s *sender) run() {
	defer s.leave()
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
		if s.route != nil && s.route.broken.Load() {
			s.leave()
		}
		if s.route == nil {
			p, err := s.w.dialer.openPipe(s.w.ctx, s.addr)
			if err != nil {
				s.unsent(lanes, err)
				continue
			}
			s.enter(p)
		}
		stop := s.route.during(s.w.ctx)
		s.send(lanes)
		stop()
	}
}

func (s *sender) enter(p *pipe) {
	r := &route{pipe: p, flying: make(chan *shipment, mostFlying), slots: make(chan struct{}, mostFlying)}
	s.route = r
	s.w.done.Go(func() { s.listen(r) })
}

func (s *sender) leave() {
	if s.route != nil {
		s.route.drop()
		close(s.route.flying)
		s.route = nil
	}
}

// listen reads the answers. It must not use the connection in any other way.
func (s *sender) listen(r *route) {
	var dead error
	var b []byte
	for sh := range r.flying {
		var list []receipt
		if dead == nil {
			var err error
			if b, err = r.receive(sh.id, func(n int) []byte { return slices.Grow(b[:0], n)[:n] }); err == nil {
				var wait time.Duration
				if list, wait, err = sh.receipts(b); wait > 0 {
					s.w.dialer.log.Debug("kafka: the broker throttles writes", "broker", s.addr, "for", wait)
					r.slow.Store(time.Now().Add(wait).UnixMilli())
				}
			}
			dead = err
		}
		<-r.slots
		s.answered(r, sh.parcels, list, dead)
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

func (s *sender) send(lanes []*lane) {
	var open [2]shipment // by transactional id
	for _, l := range lanes {
		id, txID := s.w.id, (*string)(nil)
		slot := 0
		if s.w.tx != nil {
			slot, txID, id = s.w.tx.identity(l)
		}
		p, err := l.head(id)
		if err != nil {
			s.w.fail(fmt.Errorf("cannot encode a batch for topic %q: %w", l.at.Topic, err))
			return
		}
		sh := &open[slot]
		sh.txID = txID
		if sh.add(p); sh.bytes >= requestBytes {
			s.ship(*sh)
			*sh = shipment{}
		}
	}
	for _, sh := range open {
		if len(sh.parcels) > 0 {
			s.ship(sh)
		}
	}
}

// ship sends a request. Its parcels are handed to listen when they are written, not before: an answer may let them be used anew.
func (s *sender) ship(sh shipment) {
	r := s.route
	if err := r.write(s.w.ctx, &sh); err != nil {
		s.answered(r, sh.parcels, nil, err)
	}
}

func (r *route) write(ctx context.Context, sh *shipment) (err error) {
	if r.renewDue() {
		for range mostFlying { // sarama needs the connection for itself
			r.slots <- struct{}{}
		}
		err = r.renew()
		for range mostFlying {
			<-r.slots
		}
		if err != nil {
			return err
		}
	}
	r.throttle = time.UnixMilli(r.slow.Load())
	r.slots <- struct{}{}
	if sh.id, err = r.pipe.send(ctx, sh.request(r.pipe)); err != nil {
		<-r.slots
		return err
	}
	r.flying <- sh
	return nil
}

func (s *sender) answered(r *route, parcels []*parcel, list []receipt, err error) {
	if err != nil {
		if s.w.ctx.Err() != nil {
			return
		}
		r.broken.Store(true)
		for _, p := range parcels {
			s.retry(p, err)
		}
		return
	}
	for i, p := range parcels {
		switch a := list[i]; {
		case !a.known:
			s.retry(p, errors.New("the broker's answer leaves the partition out"))
		case a.err == sarama.ErrNoError && a.offset >= 0:
			s.w.acknowledged(p, a.offset)
		case again(a.err):
			s.retry(p, a.err)
		default:
			s.w.fail(refusal(p, a))
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
func refusal(p *parcel, a receipt) error {
	words := ""
	if a.words != "" {
		words = ": " + a.words
	}
	return fmt.Errorf("topic %q partition %d refuses %d records of checkpoint %d with times from %v to %v%s: %w",
		p.lane.at.Topic, p.lane.at.Partition, p.records, p.n,
		time.UnixMilli(p.first).UTC(), time.UnixMilli(p.last).UTC(), words, named(a.err))
}

var _ wire.Writer = (*writer)(nil)
