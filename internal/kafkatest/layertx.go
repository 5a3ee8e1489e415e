package kafkatest

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/faults"
)

// A txn is what the layer has seen of a transactional id.
type txn struct {
	pid   int64
	epoch int16
	begun bool
}

// held is a commit that was answered and is not in the log yet, as between a coordinator's answer and its markers.
type held struct {
	q  *request
	to *layerListener
	at int
	by time.Time
}

// markersWithin bounds how long markers are held back: who waits for them asks ever more seldom, and requests are what counts otherwise.
const markersWithin = 500 * time.Millisecond

// instead is what the layer answers in the broker's place; nil for what goes on to the broker.
func (l *Layer) instead(q *request, to *layerListener) []byte {
	switch b := q.body.(type) {
	case *kmsg.InitProducerIDRequest:
		return l.init(q, b, to)
	case *kmsg.AddPartitionsToTxnRequest:
		l.mu.Lock()
		l.wroteLocked(b)
		l.mu.Unlock()
		if l.begin(b.TransactionalID) {
			return nil
		}
		resp := kmsg.NewPtrAddPartitionsToTxnResponse()
		for _, t := range b.Topics {
			topic := kmsg.NewAddPartitionsToTxnResponseTopic()
			topic.Topic = t.Topic
			for _, p := range t.Partitions {
				part := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				part.Partition, part.ErrorCode = p, kerr.ConcurrentTransactions.Code
				topic.Partitions = append(topic.Partitions, part)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return q.answered(resp)
	case *kmsg.AddOffsetsToTxnRequest:
		if l.begin(b.TransactionalID) {
			return nil
		}
		resp := kmsg.NewPtrAddOffsetsToTxnResponse()
		resp.ErrorCode = kerr.ConcurrentTransactions.Code
		return q.answered(resp)
	case *kmsg.EndTxnRequest:
		return l.end(q, b, to)
	case *kmsg.TxnOffsetCommitRequest:
		return refuseTxnOffsets(q, b)
	case *kmsg.OffsetCommitRequest:
		return refuseOffsets(q, b)
	case *kmsg.ProduceRequest:
		return l.refuseTimes(q, b)
	}
	return nil
}

// begin notes that a transaction is open, unless the one before has no markers yet.
func (l *Layer) begin(id string) bool {
	l.owners.Lock()
	defer l.owners.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[id] != nil {
		return false
	}
	if l.txns[id] != nil {
		l.txns[id].begun = true
	}
	return true
}

// clean has retention and compaction run, now or when they may: the embedded broker takes a record of a transaction that is open for the
// last one of its key, and would drop the one that is committed.
func (l *Layer) clean(due bool) {
	l.owners.Lock()
	defer l.owners.Unlock()
	if l.dirty = l.dirty || due; !l.dirty {
		return
	}
	l.mu.Lock()
	open := len(l.held) > 0
	for _, t := range l.txns {
		open = open || t.begun
	}
	l.mu.Unlock()
	if !open {
		l.fake.ApplyRetention()
		l.fake.Compact()
		l.cleanedTo()
		l.dirty = false
	}
}

// init asks the broker and notes whose the id is now.
func (l *Layer) init(q *request, b *kmsg.InitProducerIDRequest, to *layerListener) []byte {
	if b.TransactionalID == nil {
		return nil
	}
	id := *b.TransactionalID
	l.owners.Lock()
	defer l.owners.Unlock()
	l.mu.Lock()
	waits := l.held[id] != nil
	l.mu.Unlock()
	if waits {
		resp := kmsg.NewPtrInitProducerIDResponse()
		resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = kerr.ConcurrentTransactions.Code, -1, -1
		return q.answered(resp)
	}
	frame, err := to.ask(q.frame)
	if err != nil {
		return nil
	}
	if resp, err := q.answerOf(frame); err == nil {
		if r := resp.(*kmsg.InitProducerIDResponse); r.ErrorCode == 0 {
			l.mu.Lock()
			l.txns[id] = &txn{pid: r.ProducerID, epoch: r.ProducerEpoch}
			l.mu.Unlock()
		}
	}
	return frame
}

// end is about commits. It answers one before its markers are written, where the judge says so. Only a commit that will succeed may be answered: one of the
// id's owner, of a transaction that has begun.
func (l *Layer) end(q *request, b *kmsg.EndTxnRequest, to *layerListener) []byte {
	id := b.TransactionalID
	// The embedded broker takes positions over when markers are written, in whatever order; Kafka, in the order in which they were sent.
	for l.release(func(h *held) bool { return h.q.client == q.client && h.q.id() != id }) {
	}
	l.owners.Lock()
	defer l.owners.Unlock()
	resp := kmsg.NewPtrEndTxnResponse()
	l.mu.Lock()
	waits, t := l.held[id] != nil, l.txns[id]
	good := t != nil && t.begun && t.pid == b.ProducerID && t.epoch == b.ProducerEpoch && b.Commit
	l.mu.Unlock()
	if waits {
		resp.ErrorCode = kerr.ConcurrentTransactions.Code
		return q.answered(resp)
	}
	if !good {
		return nil
	}
	f := l.verdict(faults.Request{Kind: faults.Marker, ID: id})
	if f.After == 0 {
		return l.endNow(q, t, to)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.begun = false
	l.held[id] = &held{q: q, to: to, at: l.requests + f.After, by: time.Now().Add(markersWithin)}
	return q.answered(resp)
}

// endNow asks the broker. Until it has answered, the transaction is open: a commit that is only on its way may be lost with its process, and what was
// cleaned meanwhile would have been cleaned over records that are aborted. owners is held.
func (l *Layer) endNow(q *request, t *txn, to *layerListener) []byte {
	frame, err := to.ask(q.frame)
	if err != nil {
		return nil
	}
	if resp, err := q.answerOf(frame); err == nil && resp.(*kmsg.EndTxnResponse).ErrorCode == 0 {
		l.mu.Lock()
		t.begun = false
		l.mu.Unlock()
	}
	return frame
}

// release lets a held commit that is due into the log, and reports whether there was one. All are due when due is nil.
func (l *Layer) release(due func(*held) bool) bool {
	l.releasing.Lock()
	defer l.releasing.Unlock()
	l.mu.Lock()
	var id string
	var h *held
	for name, one := range l.held {
		if due == nil || due(one) {
			id, h = name, one
			break
		}
	}
	nodes := append([]*layerListener{}, l.nodes...)
	l.mu.Unlock()
	if h == nil {
		return false
	}
	err := kerr.NotCoordinator.Code
	for _, node := range append([]*layerListener{h.to}, nodes...) { // its coordinator may have moved
		if err != kerr.NotCoordinator.Code {
			break
		}
		if frame, failed := node.ask(h.q.frame); failed == nil {
			if resp, failed := h.q.answerOf(frame); failed == nil {
				err = resp.(*kmsg.EndTxnResponse).ErrorCode
			}
		}
	}
	if err != 0 {
		l.fault(fmt.Errorf("kafkatest: a commit of %s that was answered is refused: %w", id, kerr.ErrorForCode(err)))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, id)
	return true
}

// fault notes that the layer itself has failed.
func (l *Layer) fault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
	default:
		l.wrong = append(l.wrong, err)
	}
}

// Err is what went wrong in the layer itself: a test that sees it has tested nothing.
func (l *Layer) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.wrong...)
}
