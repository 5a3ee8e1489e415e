package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// maxTimeout is Kafka's default of transaction.max.timeout.ms.
const maxTimeout = 15 * time.Minute

// maxEpoch is how far an epoch counts before the coordinator gives the id another producer id. Kafka's is 32,766; a small one makes
// every longer test cross it.
const maxEpoch = 100

// A txn is what the coordinator knows of a transactional id.
type txn struct {
	id      string
	pid     int64
	epoch   int16
	state   txState
	started time.Time
	timeout time.Duration
	commit  bool // how it ends, or ended

	parts    []*partition // in the order in which they were added
	spans    map[*partition]*span
	moves    []move
	unmarked int    // markers still to be written
	then     func() // what the owner waits to do when they are, or nil

	prevPID   int64 // before the last bump: who repeats that request gets its answer again
	prevEpoch int16
}

// identity is a producer's.
type identity struct {
	pid   int64
	epoch int16
}

type txState uint8

const (
	txNone    txState = iota // nothing since the last bump
	txOngoing                // has begun
	txEnding                 // decided, markers are being written
	txEnded                  // decided and written: repeating the end is a success
)

// move is a transaction's positions for one group.
type move struct {
	group  *group
	number int
	at     []wire.Position
}

// heldMarkers are markers that a test holds back.
type heldMarkers struct {
	all     bool
	parts   map[wire.TopicPartition]bool
	waiting []func()
}

func (b *broker) newPID() int64 { b.lastPID++; return b.lastPID }

// initProducer gives id a new epoch. pid −1 takes the id over from whoever has it; otherwise the owner asks, who must be the owner
// still. An open transaction is aborted first.
func (b *broker) initProducer(id string, timeout time.Duration, pid int64, epoch int16) (identity, error) {
	if timeout > maxTimeout {
		return identity{}, fmt.Errorf("%w: transaction timeout %v is above the cluster's %v", wire.ErrRefused, timeout, maxTimeout)
	}
	t := b.txns[id]
	if t == nil {
		t = &txn{id: id, pid: b.newPID(), epoch: -1, prevPID: -1, spans: map[*partition]*span{}}
		b.txns[id] = t
	}
	if pid >= 0 && (pid != t.pid || epoch != t.epoch) {
		repeated := pid == t.prevPID && epoch == t.prevEpoch
		if repeated && t.state == txNone {
			return identity{t.pid, t.epoch}, nil
		}
		if !repeated {
			return identity{}, t.fenced(pid, epoch)
		}
	}
	if t.state == txOngoing {
		b.abort(t)
	}
	if t.state == txEnding {
		return identity{}, errPending
	}
	t.prevPID, t.prevEpoch = t.pid, t.epoch
	b.bump(t)
	t.state, t.timeout = txNone, timeout
	return identity{t.pid, t.epoch}, nil
}

func (b *broker) bump(t *txn) {
	if t.epoch++; t.epoch > maxEpoch {
		t.pid, t.epoch = b.newPID(), 0
	}
}

func (t *txn) fenced(pid int64, epoch int16) error {
	return fmt.Errorf("transactional id %s: producer %d epoch %d: %w", t.id, pid, epoch, wire.ErrFenced)
}

// owned finds the transaction of a producer that is the owner still.
func (b *broker) owned(id string, pid int64, epoch int16) (*txn, error) {
	t := b.txns[id]
	if t == nil {
		return nil, fmt.Errorf("transactional id %s is not known", id)
	}
	if t.pid != pid || t.epoch != epoch {
		return nil, t.fenced(pid, epoch)
	}
	return t, nil
}

// join begins the transaction if it has not begun.
func (b *broker) join(id string, pid int64, epoch int16) (*txn, error) {
	t, err := b.owned(id, pid, epoch)
	if err != nil {
		return nil, err
	}
	switch t.state {
	case txEnding:
		return nil, errPending
	case txNone, txEnded:
		t.state, t.started = txOngoing, b.now
		b.dueAt(b.now.Add(t.timeout))
	}
	return t, nil
}

func (b *broker) addPartitions(id string, pid int64, epoch int16, parts []*partition) error {
	t, err := b.join(id, pid, epoch)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if !slices.Contains(t.parts, p) {
			t.parts = append(t.parts, p)
		}
	}
	return nil
}

// produceTx appends to a transaction that p was added to.
func (b *broker) produceTx(id string, pid int64, epoch int16, p *partition, seq int32, records []wire.Record) (int64, error) {
	t, err := b.owned(id, pid, epoch)
	if err != nil {
		return 0, err
	}
	if t.state != txOngoing || !slices.Contains(t.parts, p) {
		return 0, fmt.Errorf("transactional id %s: topic %s partition %d is not part of a transaction", id, p.topic.name, p.index)
	}
	s := t.spans[p]
	if s == nil {
		s = p.begin(id)
		t.spans[p] = s
	}
	return p.produce(pid, epoch, seq, records, s, b.now.UnixMilli())
}

// txnOffsets makes positions part of a transaction: they count when it is committed.
func (b *broker) txnOffsets(id string, pid int64, epoch int16, who wire.Identity, at []wire.Position) error {
	if _, err := b.owned(id, pid, epoch); err != nil {
		return err
	}
	g, err := b.committer(who, at)
	if err != nil {
		return err
	}
	t, err := b.join(id, pid, epoch)
	if err != nil {
		return err
	}
	for _, p := range at {
		g.pending[p.TopicPartition]++
	}
	t.moves = append(t.moves, move{g, g.append(), slices.Clone(at)})
	return nil
}

// endTxn commits. Its answer comes before the markers are written.
func (b *broker) endTxn(id string, pid int64, epoch int16) error {
	t, err := b.owned(id, pid, epoch)
	if err != nil {
		return err
	}
	switch {
	case t.state == txOngoing:
		b.end(t, true)
		return nil
	case t.state != txNone && t.commit:
		return nil
	}
	return fmt.Errorf("transactional id %s has no transaction to commit", id)
}

// abort ends a transaction whose owner is gone or too late. The owner's epoch ends with it.
func (b *broker) abort(t *txn) {
	b.bump(t)
	b.end(t, false)
}

// end decides the transaction and writes its markers, each when its fate lets it.
func (b *broker) end(t *txn, commit bool) {
	t.state, t.commit = txEnding, commit
	parts, spans, moves := t.parts, t.spans, t.moves
	t.parts, t.spans, t.moves = nil, map[*partition]*span{}, nil
	t.unmarked = len(parts) + len(moves) + 1
	for _, p := range parts {
		b.marker(t, wire.TopicPartition{Topic: p.topic.name, Partition: p.index}, func() { p.finish(spans[p], t.id, commit, b.now.UnixMilli()) })
	}
	for _, m := range moves {
		b.marker(t, wire.TopicPartition{Topic: faults.OffsetsTopic}, func() { m.group.finish(m.number, m.at, commit) })
	}
	t.marked(b)
}

// marker writes one marker, now or later.
func (b *broker) marker(t *txn, at wire.TopicPartition, write func()) {
	done := func() {
		write()
		t.marked(b)
	}
	switch f := b.judge(faults.Request{Kind: faults.Marker, ID: t.id, Topic: at.Topic, Partition: at.Partition}); {
	case b.held.all || b.held.parts[at]:
		b.held.waiting = append(b.held.waiting, done)
	case f.After > 0:
		b.postpone(f.After, done)
	default:
		done()
	}
}

func (t *txn) marked(b *broker) {
	if t.unmarked--; t.unmarked == 0 {
		t.state = txEnded
		if then := t.then; then != nil {
			t.then = nil
			then()
		}
	}
	b.wake()
}

// finish writes a transaction's marker. A partition that was added and got no record has one too.
func (p *partition) finish(s *span, id string, commit bool, now int64) {
	if s == nil {
		s = &span{id: id, first: p.end}
	}
	state := spanAborted
	if commit {
		state = spanCommitted
	}
	p.mark(s, state, now)
}

// HoldMarkers holds back the markers of transactions that end from now on, in the given partitions or, with none, everywhere, until
// Settle is called: commits succeed, and nothing of them can be seen yet. Topic faults.OffsetsTopic stands for positions.
func (c *Cluster) HoldMarkers(of ...wire.TopicPartition) {
	b := c.enter()
	defer c.leave()
	b.held.all = len(of) == 0
	b.held.parts = map[wire.TopicPartition]bool{}
	for _, at := range of {
		b.held.parts[at] = true
	}
}

// openTransactions lists what has begun and is not ended in every partition.
func (b *broker) openTransactions(prefix string) []wire.OpenTx {
	var open []wire.OpenTx
	for _, id := range slices.Sorted(maps.Keys(b.txns)) {
		if t := b.txns[id]; strings.HasPrefix(id, prefix) && (t.state == txOngoing || t.state == txEnding) {
			open = append(open, wire.OpenTx{ID: id, Started: t.started})
		}
	}
	return open
}
