package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

// transactions are a writer whose records become visible by Commit. Two transactional ids are used in turn, n even the first, so that
// n is committed while records of n+1 are written already.
//
// sarama speaks version 1 of Kafka's transaction protocol, whose epochs span transactions unless the client sees to it. The rules that
// make it exact all the same are kept here and in session, each with a test of its name: an epoch per transaction, an abort only by
// a new epoch, one id in flight per partition (lane), a group fence in every transaction, outcomes that are read and never assumed.
type transactions struct {
	*writer
	config   wire.TxConfig
	sessions [2]*session
	group    string // of the last commit, whose positions the next transactions take in early; guarded by mu

	committing sync.Mutex // commits are one at a time, in the order of n
	last       uint64     // the last that was committed
}

// Transactions is described at wire.Log.
func (l *clusterLog) Transactions(ctx context.Context, c wire.TxConfig) (wire.Transactions, error) {
	if c.IDs[0] == "" || c.IDs[1] == "" || c.IDs[0] == c.IDs[1] {
		return nil, fmt.Errorf("kafka: transactions need two transactional ids, got %q and %q: %w", c.IDs[0], c.IDs[1], wire.ErrRefused)
	}
	w := newWriter(l, c.WriterConfig)
	t := &transactions{writer: w, config: c}
	w.tx = t
	for i, id := range c.IDs {
		s := newSession(w, id)
		t.sessions[i] = s
		p, err := s.init(ctx, producer{-1, -1})
		if err != nil {
			w.end(errClosed)
			for _, s := range t.sessions[:i+1] {
				if s.conn != nil {
					s.conn.drop()
				}
			}
			return nil, fmt.Errorf("kafka: taking over the transactional id %q: %w", id, err)
		}
		s.producer = p
	}
	w.start()
	for _, s := range t.sessions {
		w.done.Go(s.run)
	}
	return t, nil
}

func (t *transactions) session(n uint64) *session { return t.sessions[n%2] }

func (t *transactions) admitLocked(l *lane, n uint64) bool { return t.session(n).admitLocked(l, n) }

// identity is whose a lane's next parcel is.
func (t *transactions) identity(l *lane) (slot int, id *string, of producer) {
	n := l.headOf()
	s := t.session(n)
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(n % 2), &s.id, s.producer
}

// Wrote is described at wire.Transactions.
func (t *transactions) Wrote(n uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrote[n]
}

var (
	errNoPosition = errors.New("a transaction needs a position of the group, which is what fences a process that has lost its tasks")
	errNoMember   = errors.New("positions need a member of the group with a generation")
	errNotFlushed = errors.New("the checkpoint has records that are not acknowledged: Flush comes first")
	errOrder      = errors.New("checkpoints are committed in order")
)

// Commit is described at wire.Transactions.
func (t *transactions) Commit(ctx context.Context, n uint64, who wire.Identity, at []wire.Position) error {
	t.committing.Lock()
	defer t.committing.Unlock()
	wrote, err := t.mayCommit(n, who, at)
	if err != nil {
		return fmt.Errorf("kafka: committing checkpoint %d: %w", n, err)
	}
	switch {
	case wrote:
		err = t.commit(ctx, n, who, at)
	case len(at) > 0:
		err = t.commitPositions(ctx, who, at)
	}
	if err == nil {
		t.committed(n)
		return nil
	}
	err = fmt.Errorf("kafka: committing checkpoint %d: %w", n, err)
	if !errors.Is(err, wire.ErrGeneration) {
		t.fail(err) // whatever happened: this writer will not end the transaction any more
	}
	return err
}

func (t *transactions) mayCommit(n uint64, who wire.Identity, at []wire.Position) (wrote bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wrote = t.wrote[n]
	switch {
	case t.err != nil:
		return false, t.err
	case t.ctx.Err() != nil:
		return false, context.Cause(t.ctx)
	case n <= t.last:
		return false, fmt.Errorf("%w: %d was the last", errOrder, t.last)
	case upTo(t.pending, n):
		return false, errNotFlushed
	case wrote && len(at) == 0 && !t.config.Alone:
		return false, errNoPosition
	case len(at) > 0 && (who.Member == "" || who.Generation < 0):
		return false, errNoMember
	}
	return wrote, nil
}

// commitPositions is the commit of a checkpoint that wrote nothing: no transaction is opened for it.
func (t *transactions) commitPositions(ctx context.Context, who wire.Identity, at []wire.Position) error {
	err := t.log.CommitPlain(ctx, who, at)
	if err != nil && code(err) == sarama.ErrNoError {
		return fmt.Errorf("%w: %w", wire.ErrUnknownOutcome, err)
	}
	return err
}

// commit ends the transaction of checkpoint n.
func (t *transactions) commit(ctx context.Context, n uint64, who wire.Identity, at []wire.Position) error {
	s := t.session(n)
	t.mu.Lock()
	s.ending = true
	id, added, serves := s.producer, s.offsets && t.group == who.Group, s.n
	t.group = who.Group
	t.mu.Unlock()
	if serves != n {
		return fmt.Errorf("transactional id %q serves checkpoint %d", s.id, serves)
	}
	if len(at) == 0 {
		return s.endTxn(ctx, id)
	}
	if !added {
		if err := s.addOffsets(ctx, id, who.Group); err != nil {
			return fmt.Errorf("adding positions to the transaction: %w", err)
		}
	}
	if err := t.commitOffsets(ctx, s, id, who, at); err != nil {
		return fmt.Errorf("positions of group %q: %w", who.Group, err)
	}
	return s.endTxn(ctx, id)
}

// commitOffsets puts the positions into the transaction. The coordinator checks member and generation: a process whose tasks have gone
// to others does not get past this.
func (t *transactions) commitOffsets(ctx context.Context, s *session, id producer, who wire.Identity, at []wire.Position) error {
	request := &sarama.TxnOffsetCommitRequest{
		Version: 3, TransactionalID: s.id, GroupID: who.Group, ProducerID: id.id, ProducerEpoch: id.epoch,
		GenerationID: who.Generation, MemberID: who.Member, GroupInstanceID: optional(who.Instance), Topics: make(map[string][]*sarama.PartitionOffsetMetadata),
	}
	for _, p := range at {
		request.Topics[p.Topic] = append(request.Topics[p.Topic], &sarama.PartitionOffsetMetadata{
			Partition: p.Partition, Offset: p.Offset, LeaderEpoch: -1, Metadata: &p.Metadata,
		})
	}
	wait := newBackoff()
	for {
		err := t.log.atGroup(ctx, who.Group, func(b *sarama.Broker) error {
			answer, err := b.TxnOffsetCommit(request)
			if err != nil {
				return err
			}
			return worst(answer.Topics)
		})
		if k := code(err); err == nil || k != sarama.ErrNoError && !passingTx(k) || errors.Is(err, wire.ErrRefused) {
			return err
		}
		if !wait.sleep(ctx, time.Time{}) {
			return fmt.Errorf("%w (last: %w)", context.Cause(ctx), err)
		}
	}
}

// endTxn asks for the commit until there is an answer. A request that got none may have been carried out, and so may one that was then
// fenced or found no transaction: those answers are the same for a commit that succeeded before and for one that never will.
func (s *session) endTxn(ctx context.Context, id producer) error {
	request := &sarama.EndTxnRequest{Version: 3, TransactionalID: s.id, ProducerID: id.id, ProducerEpoch: id.epoch, TransactionResult: true}
	wait := newBackoff()
	for sent := false; ; {
		err := s.try(ctx, func(b *sarama.Broker) error {
			sent = true
			answer, err := b.EndTxn(request)
			if err != nil {
				return err
			}
			return orNil(answer.Err)
		})
		switch k := code(err); {
		case err == nil:
			return nil
		case k == sarama.ErrInvalidProducerEpoch, k == sarama.ErrProducerFenced:
			return fmt.Errorf("%w: %w", wire.ErrFenced, err)
		case k == sarama.ErrInvalidTxnState, k == sarama.ErrInvalidProducerIDMapping:
			return fmt.Errorf("%w: %w", wire.ErrUnknownOutcome, err)
		case k != sarama.ErrNoError && !passing(k), !sent && errors.Is(err, wire.ErrRefused):
			return named(err)
		}
		if !wait.sleep(ctx, time.Time{}) {
			if !sent {
				return fmt.Errorf("%w (last: %w)", context.Cause(ctx), err)
			}
			return fmt.Errorf("%w: %w (last: %w)", wire.ErrUnknownOutcome, context.Cause(ctx), err)
		}
	}
}

// committed starts the next epoch in the background, while the other id works.
func (t *transactions) committed(n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = n
	if s := t.session(n); s.n == n {
		s.renewing = true
		signal(s.wake)
	}
	maps.DeleteFunc(t.wrote, func(k uint64, _ bool) bool { return k <= n })
}

var _ wire.Transactions = (*transactions)(nil)
