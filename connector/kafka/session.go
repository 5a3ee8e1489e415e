package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// A session is one transactional id with its connection to the coordinator. It serves one checkpoint at a time: from the first record
// of the checkpoint until its outcome is known and a new producer epoch is there. The epoch is what keeps a request of one transaction that
// was delayed or repeated on its way from touching the next one, which uses the same id.
type session struct {
	w    *writer
	id   string
	wake chan struct{} // holds one token when there is something to do

	// Guarded by w.mu.
	producer producer
	n        uint64         // the checkpoint it serves; 0 is none yet
	renewing bool           // the transaction is over, the next epoch is not there yet
	added    map[*lane]bool // partitions that are part of the transaction
	adding   []*lane        // offered, and not part of it yet
	later    []later        // offered for the next checkpoint of this id
	offsets  bool           // the group's positions are part of it
	ending   bool           // Commit has begun

	line chan struct{} // holds one token: who has it uses the connection
	conn *conn
}

// A later is a lane whose next parcel belongs to a checkpoint whose turn has not come.
type later struct {
	*lane
	n uint64
}

func newSession(w *writer, id string) *session {
	return &session{w: w, id: id, wake: make(chan struct{}, 1), line: make(chan struct{}, 1)}
}

// admitLocked reports whether a lane's parcel of checkpoint n may be sent. If not, the session offers it to a sender when it may.
func (s *session) admitLocked(l *lane, n uint64) bool {
	if s.renewing || s.n != 0 && s.n != n {
		s.later = append(s.later, later{l, n})
		return false
	}
	if s.n == 0 {
		s.n, s.added, s.offsets, s.ending = n, make(map[*lane]bool), false, false
	}
	if s.added[l] {
		return true
	}
	s.adding = append(s.adding, l)
	signal(s.wake)
	return false
}

// run does in the background what must precede records: the next epoch, and the partitions' entry into the transaction.
func (s *session) run() {
	defer func() {
		if s.conn != nil {
			s.conn.drop()
		}
	}()
	for {
		select {
		case <-s.wake:
		case <-s.w.ctx.Done():
			return
		}
		if err := s.renew(); err != nil {
			s.failed("renewing the producer epoch", err)
			return
		}
		if err := s.add(); err != nil {
			s.failed("adding partitions to the transaction", err)
			return
		}
	}
}

func (s *session) failed(doing string, err error) {
	if s.w.ctx.Err() == nil {
		s.w.fail(fmt.Errorf("transactional id %q: %s: %w", s.id, doing, err))
	}
}

// renew gets the next epoch after a transaction, and lets in what waited for it.
func (s *session) renew() error {
	s.w.mu.Lock()
	old, due := s.producer, s.renewing
	s.w.mu.Unlock()
	if !due {
		return nil
	}
	next, err := s.init(s.w.ctx, old)
	if err != nil {
		return err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.producer, s.renewing, s.n = next, false, 0
	waited := s.later
	s.later = nil
	for _, l := range waited {
		s.w.offerLocked(l.lane, l.n)
	}
	return nil
}

// init takes the id over (of is {-1, -1}), or moves its owner, of, to the next epoch. Producer id and epoch both come from
// the answer: the coordinator takes a new id when epochs run out.
//
// A coordinator that dies after it has written the epoch and before it has answered leaves one behind that does not know whose the
// epoch is: to the repeated request it says that the owner is fenced. Nobody else need be there then, and the error says so.
func (s *session) init(ctx context.Context, of producer) (next producer, err error) {
	unanswered := false
	err = s.ask(ctx, func(b *sarama.Broker) error {
		next, err = initProducer(b, &s.id, s.w.tx.config.Timeout, of)
		unanswered = unanswered || err != nil && code(err) == sarama.ErrNoError
		return err
	})
	if unanswered && errors.Is(err, wire.ErrFenced) {
		return next, fmt.Errorf("%w: the answer to a request for a new epoch was lost (%s)", wire.ErrUnknownOutcome, err)
	}
	return next, err
}

// add makes all waiting partitions part of the transaction, in one request: each request is a write to the coordinator's log.
func (s *session) add() error {
	s.w.mu.Lock()
	waiting, id, group := s.adding, s.producer, s.w.tx.group
	s.adding = nil
	offsets := group != "" && !s.offsets
	s.w.mu.Unlock()
	if len(waiting) == 0 {
		return nil
	}
	if err := s.addPartitions(waiting, id); err != nil {
		return err
	}
	s.w.mu.Lock()
	for _, l := range waiting {
		s.added[l] = true
		s.w.toSenderLocked(l)
	}
	s.w.mu.Unlock()
	if offsets {
		s.addOffsetsEarly(id, group)
	}
	return nil
}

// addOffsetsEarly saves Commit a request, if it can: the group is most likely the one of the last commit. It must not run into a commit,
// after which it would open a transaction of its own; whatever goes wrong is left to Commit.
func (s *session) addOffsetsEarly(id producer, group string) {
	_ = s.try(s.w.ctx, func(b *sarama.Broker) error {
		s.w.mu.Lock()
		ending := s.ending
		s.w.mu.Unlock()
		if ending {
			return nil
		}
		return s.sendOffsets(b, id, group)
	})
}

func (s *session) addPartitions(lanes []*lane, id producer) error {
	request := &sarama.AddPartitionsToTxnRequest{
		Version: 3, TransactionalID: s.id, ProducerID: id.id, ProducerEpoch: id.epoch, TopicPartitions: make(map[string][]int32),
	}
	for _, l := range lanes {
		request.TopicPartitions[l.at.Topic] = append(request.TopicPartitions[l.at.Topic], l.at.Partition)
	}
	return s.ask(s.w.ctx, func(b *sarama.Broker) error {
		answer, err := b.AddPartitionsToTxn(request)
		if err != nil {
			return err
		}
		return worst(answer.Errors)
	})
}

// worst is the error that decides about a request: one that is for good before those that pass, and those before what was not
// attempted because of another.
func worst(errs map[string][]*sarama.PartitionError) error {
	var found error
	for topic, list := range errs {
		for _, p := range list {
			switch {
			case p.Err == sarama.ErrNoError, found != nil && p.Err == sarama.ErrOperationNotAttempted:
			case found == nil, code(found) == sarama.ErrOperationNotAttempted, !passingTx(p.Err):
				found = fmt.Errorf("topic %q partition %d: %w", topic, p.Partition, p.Err)
			}
		}
	}
	return found
}

// passingTx adds to passing what passes in a transaction only: a topic that was just made is not known everywhere yet.
func passingTx(k sarama.KError) bool {
	return passing(k) || k == sarama.ErrUnknownTopicOrPartition || k == sarama.ErrOperationNotAttempted
}

// addOffsets makes the group's positions part of the transaction.
func (s *session) addOffsets(ctx context.Context, id producer, group string) error {
	return s.ask(ctx, func(b *sarama.Broker) error { return s.sendOffsets(b, id, group) })
}

func (s *session) sendOffsets(b *sarama.Broker, id producer, group string) error {
	answer, err := b.AddOffsetsToTxn(&sarama.AddOffsetsToTxnRequest{
		Version: 3, TransactionalID: s.id, ProducerID: id.id, ProducerEpoch: id.epoch, GroupID: group,
	})
	if err == nil {
		err = orNil(answer.Err)
	}
	if err == nil {
		s.w.mu.Lock()
		s.offsets = true
		s.w.mu.Unlock()
	}
	return err
}

func orNil(k sarama.KError) error {
	if k == sarama.ErrNoError {
		return nil
	}
	return k
}

// ask sends a request to the coordinator until it is answered for good. The request must be one that may be repeated.
func (s *session) ask(ctx context.Context, request func(*sarama.Broker) error) error {
	wait := newBackoff()
	for {
		err := s.try(ctx, request)
		if err == nil {
			return nil
		}
		if k := code(err); k != sarama.ErrNoError && !passingTx(k) || errors.Is(err, wire.ErrRefused) {
			return named(err)
		}
		if !wait.sleep(ctx, time.Time{}) {
			return fmt.Errorf("%w (last: %w)", context.Cause(ctx), err)
		}
	}
}

// try sends a request once. After anything but a plain answer the coordinator is looked for again.
func (s *session) try(ctx context.Context, request func(*sarama.Broker) error) error {
	select {
	case s.line <- struct{}{}:
		defer func() { <-s.line }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.conn == nil {
		addr, err := s.w.log.dir.coordinator(ctx, sarama.CoordinatorTransaction, s.id)
		if err != nil {
			return err
		}
		if s.conn, err = s.w.dialer.open(ctx, addr); err != nil {
			return err
		}
	}
	stop := s.conn.during(ctx)
	err := request(s.conn.Broker)
	if ended := !stop(); ended || err != nil && moved(code(err)) {
		s.conn.drop()
		s.conn = nil
	}
	return err
}

// moved reports whether an error says that the connection is broken (no error of the broker at all), or leads to the wrong place.
func moved(k sarama.KError) bool {
	switch k {
	case sarama.ErrNoError, sarama.ErrNotCoordinatorForConsumer, sarama.ErrConsumerCoordinatorNotAvailable, sarama.ErrRequestTimedOut:
		return true
	}
	return false
}
