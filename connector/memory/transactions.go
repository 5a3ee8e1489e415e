package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// transactions writes checkpoints as transactions under two ids in turn, as a client of Kafka has to: one producer epoch per
// transaction, outcomes read from answers and never assumed.
type transactions struct {
	*writer
	timeout time.Duration
	alone   bool
	slots   [2]slot // guarded by writer.sending
	last    uint64  // the last checkpoint that was committed; as slots
}

// A slot is one transactional id.
type slot struct {
	id    string
	pid   int64
	epoch int16
	used  bool      // the epoch has begun a transaction: the next one needs another
	fresh *identity // the next one's, once the cluster has given it; guarded by c.mu
	n     uint64    // the checkpoint that it is at
	busy  bool      // … whose outcome is not known
	added map[*partition]bool
	seqs  map[*partition]int32
}

// Transactions is described at wire.Log.
func (cn *conn) Transactions(ctx context.Context, c wire.TxConfig) (wire.Transactions, error) {
	t := &transactions{writer: newWriter(cn, c.WriterConfig), timeout: c.Timeout, alone: c.Alone}
	t.send = t.produceTx
	for i, id := range c.IDs {
		t.slots[i] = slot{id: id, pid: -1, epoch: -1}
		if err := t.init(ctx, &t.slots[i]); err != nil {
			return nil, fmt.Errorf("take over transactional id %s: %w", id, err)
		}
	}
	return t, nil
}

// init gets a new epoch for a slot's id. The coordinator may also give another producer id.
func (t *transactions) init(ctx context.Context, s *slot) error {
	if fresh := t.take(s); fresh != nil {
		s.pid, s.epoch, s.used = fresh.pid, fresh.epoch, false
		return nil
	}
	pid, epoch := s.pid, s.epoch
	got, err := ask(ctx, t.cn, faults.Request{Kind: faults.InitProducer, ID: s.id}, func(b *broker) (identity, error) {
		return b.initProducer(s.id, t.timeout, pid, epoch)
	})
	if err == nil {
		s.pid, s.epoch, s.used = got.pid, got.epoch, false
	}
	t.take(s) // the answer to renew may have come meanwhile, and is the same one
	return err
}

// take is what renew has got, once.
func (t *transactions) take(s *slot) *identity {
	t.cn.c.enter()
	defer t.cn.c.leave()
	fresh := s.fresh
	s.fresh = nil
	return fresh
}

// renew asks for the next epoch as soon as a transaction's outcome is known, so that late requests of it hit nothing. It does not wait
// for markers: the cluster answers when they are written.
func (t *transactions) renew(s *slot) {
	id, pid, epoch := s.id, s.pid, s.epoch
	r := faults.Request{Kind: faults.InitProducer, ID: id}
	b := t.cn.enter(r)
	defer t.cn.c.leave()
	op := func(late bool) error {
		got, err := b.initProducer(id, t.timeout, pid, epoch)
		if err == nil && !late {
			s.fresh = &got
		}
		return err
	}
	for range tries {
		err := b.request(t.cn, r, op)
		if errors.Is(err, errPending) {
			b.txns[id].then = func() { _ = op(t.cn.dead) }
		}
		if !errors.Is(err, faults.ErrLost) {
			return
		}
	}
}

// produceTx sends a parcel in its checkpoint's transaction, which it begins when it is the first. errPending when the id is not free yet.
func (t *transactions) produceTx(p parcel) error {
	s := &t.slots[p.n%2]
	if s.busy && s.n != p.n {
		return errPending
	}
	if !s.busy {
		if s.used {
			if err := t.init(atOnce, s); err != nil {
				return err
			}
		}
		s.n, s.busy = p.n, true
		s.added, s.seqs = map[*partition]bool{}, map[*partition]int32{}
	}
	id, pid, epoch := s.id, s.pid, s.epoch
	if !s.added[p.part] {
		err := t.cn.call(atOnce, faults.Request{Kind: faults.AddPartitions, ID: id}, func(b *broker) error {
			return b.addPartitions(id, pid, epoch, []*partition{p.part})
		})
		if err != nil {
			return err
		}
		s.added[p.part], s.used = true, true
	}
	seq := s.seqs[p.part]
	s.seqs[p.part] += int32(len(p.records))
	return t.produce(p, id, func(b *broker) (int64, error) {
		return b.produceTx(id, pid, epoch, p.part, seq, p.records)
	})
}

// Wrote is described at wire.Transactions.
func (t *transactions) Wrote(n uint64) bool {
	t.sending.Lock()
	defer t.sending.Unlock()
	for _, p := range t.waiting {
		if p.n == n {
			return true
		}
	}
	s := &t.slots[n%2]
	return s.busy && s.n == n
}

// Commit is described at wire.Transactions.
func (t *transactions) Commit(ctx context.Context, n uint64, who wire.Identity, at []wire.Position) error {
	err := t.commit(ctx, n, who, at)
	if err != nil {
		err = fmt.Errorf("commit checkpoint %d: %w", n, err)
		if !errors.Is(err, wire.ErrGeneration) {
			t.fail(err) // whatever happened: this writer will not end it any more
		}
		return err
	}
	t.retry() // the id is free: what waited for it can go
	return nil
}

func (t *transactions) commit(ctx context.Context, n uint64, who wire.Identity, at []wire.Position) error {
	if err := t.Err(); err != nil {
		return err
	}
	wrote := t.Wrote(n)
	t.sending.Lock()
	defer t.sending.Unlock()
	s := &t.slots[n%2]
	switch {
	case n <= t.last:
		return fmt.Errorf("%d was the last one: checkpoints are committed in order", t.last)
	case wrote && (!s.busy || s.n != n):
		return errors.New("its records are not sent: Flush must have returned")
	case wrote && len(at) == 0 && !t.alone:
		return errors.New("records need a position, unmoved if need be: the group must be asked whether this process is a member")
	case len(at) > 0 && (who.Member == "" || who.Generation < 0):
		return errors.New("positions need a member of the group")
	}
	if err := t.decide(ctx, s, wrote, who, at); err != nil {
		return err
	}
	t.last = n
	return nil
}

// decide makes the checkpoint a fact. Positions alone need no transaction.
func (t *transactions) decide(ctx context.Context, s *slot, wrote bool, who wire.Identity, at []wire.Position) error {
	switch {
	case !wrote && len(at) == 0:
		return nil
	case !wrote:
		return t.cn.CommitPlain(ctx, who, at)
	}
	if len(at) > 0 {
		if err := t.move(ctx, s, who, at); err != nil {
			return err
		}
	}
	if err := t.end(s); err != nil {
		return err
	}
	s.busy = false
	t.renew(s)
	return nil
}

// move sends the positions, and with them the question whether who is of the group's current generation.
func (t *transactions) move(ctx context.Context, s *slot, who wire.Identity, at []wire.Position) error {
	id, pid, epoch := s.id, s.pid, s.epoch
	return t.cn.call(ctx, faults.Request{Kind: faults.TxnOffsets, ID: id}, func(b *broker) error {
		return b.txnOffsets(id, pid, epoch, who, at)
	})
}

// end sends the commit until it has an answer. Once one was lost, an answer that the id is someone else's says nothing of it.
func (t *transactions) end(s *slot) error {
	id, pid, epoch := s.id, s.pid, s.epoch
	for range tries {
		r := faults.Request{Kind: faults.EndTxn, ID: id}
		b := t.cn.enter(r)
		err := b.request(t.cn, r, func(bool) error { return b.endTxn(id, pid, epoch) })
		t.cn.c.leave()
		switch {
		case err == nil || errors.Is(err, wire.ErrFenced):
			return err
		case errors.Is(err, faults.ErrKilled):
			return fmt.Errorf("%w: %w", wire.ErrUnknownOutcome, err)
		case !errors.Is(err, faults.ErrLost):
			return err
		}
	}
	return fmt.Errorf("%w: transactional id %s: no answer to %d requests", wire.ErrUnknownOutcome, id, tries)
}
