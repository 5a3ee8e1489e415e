package faults

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// Log is a wire.Log whose calls have fates. It works over any cluster, but knows calls, not requests: what a fate says about doing
// something later or again, it does not do, and a client that is cut off keeps its seat. Drop is a call that does not happen and Lose one that does; both return ErrLost, or
// wire.ErrUnknownOutcome from Commit. Refuse is returned in its place.
//
// When a fate kills it, the process is dead as far as the cluster can tell: memberships fall silent, writers end without a word,
// and every call returns ErrKilled. Killed is closed then.
//
// Kinds name calls by their main request: Produce is Flush, EndTxn is Commit, InitProducer opens writers, Metadata opens readers
// and outs and asks for topics.
type Log struct {
	inner  wire.Log
	judge  Judge
	ctx    context.Context // of memberships; ends when killed
	cancel context.CancelFunc

	mu sync.Mutex // held while judging, so that judges see one request at a time
}

// Wrap puts a judge before l. Close closes l.
func Wrap(l wire.Log, j Judge) *Log {
	ctx, cancel := context.WithCancel(context.Background())
	return &Log{inner: l, judge: j, ctx: ctx, cancel: cancel}
}

var _ wire.Log = (*Log)(nil)

// Killed is closed when a fate has ended the connection.
func (l *Log) Killed() <-chan struct{} { return l.ctx.Done() }

// Kill ends the connection as Fate.Kill does.
func (l *Log) Kill() { l.cancel() }

// do lets op happen as its fate says.
func (l *Log) do(r Request, op func() error) error {
	if l.ctx.Err() != nil {
		return ErrKilled
	}
	l.mu.Lock()
	r.Time = l.Now()
	f := l.judge.Judge(r)
	l.mu.Unlock()
	switch {
	case f.Kill:
		l.Kill()
		return ErrKilled
	case f.Refuse != nil:
		return f.Refuse
	case f.Drop, f.After > 0:
		return ErrLost
	}
	err := op()
	if f.KillDone {
		l.Kill()
		return ErrKilled
	}
	if f.Lose {
		return ErrLost
	}
	return err
}

func of(k Kind, at wire.TopicPartition) Request {
	return Request{Kind: k, Topic: at.Topic, Partition: at.Partition}
}

// Read is described at wire.Log, and so are the methods below at the contract that they implement.
func (l *Log) Read(ctx context.Context, at wire.TopicPartition, from int64, how wire.ReadOptions) (wire.Reader, error) {
	var r wire.Reader
	err := l.do(of(Metadata, at), func() (err error) {
		r, err = l.inner.Read(ctx, at, from, how)
		return err
	})
	if r != nil && err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &reader{r, l, at, nil}, err
}

// A reader keeps a batch whose call was lost for the next one: to the client it was never read.
type reader struct {
	wire.Reader
	l    *Log
	at   wire.TopicPartition
	kept *wire.Batch
}

func (r *reader) Next(ctx context.Context) (*wire.Batch, error) {
	err := r.l.do(of(Fetch, r.at), func() (err error) {
		if r.kept == nil {
			r.kept, err = r.Reader.Next(ctx)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	b := r.kept
	r.kept = nil
	return b, nil
}

func (r *reader) Close() error {
	if r.kept != nil {
		r.kept.Release()
	}
	return r.Reader.Close()
}

// Join joins with a context that ends when the connection is killed.
func (l *Log) Join(ctx context.Context, c wire.GroupConfig) (m wire.Membership, err error) {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(l.ctx, cancel)
	err = l.do(Request{Kind: JoinGroup, ID: c.Group}, func() error {
		m, err = l.inner.Join(ctx, c)
		return err
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return m, nil
}

// Now passes.
func (l *Log) Now() time.Time { return l.inner.Now() }

// ClusterID passes.
func (l *Log) ClusterID() string { return l.inner.ClusterID() }

// Close kills what is left and closes the log below.
func (l *Log) Close() error {
	l.Kill()
	return l.inner.Close()
}

// Topics describes topics.
func (l *Log) Topics(ctx context.Context, names ...string) (found map[string]wire.Topic, err error) {
	return ask(l, Request{Kind: Metadata}, func() (map[string]wire.Topic, error) { return l.inner.Topics(ctx, names...) })
}

// Match lists topics.
func (l *Log) Match(ctx context.Context, re *regexp.Regexp) ([]string, error) {
	return ask(l, Request{Kind: Metadata}, func() ([]string, error) { return l.inner.Match(ctx, re) })
}

// Create makes topics.
func (l *Log) Create(ctx context.Context, specs ...wire.TopicSpec) error {
	return l.do(Request{Kind: CreateTopics}, func() error { return l.inner.Create(ctx, specs...) })
}

// DeleteRecords deletes records.
func (l *Log) DeleteRecords(ctx context.Context, before map[wire.TopicPartition]int64) error {
	return l.do(Request{Kind: DeleteRecords}, func() error { return l.inner.DeleteRecords(ctx, before) })
}

// OpenTransactions lists transactions.
func (l *Log) OpenTransactions(ctx context.Context, prefix string) ([]wire.OpenTx, error) {
	return ask(l, Request{Kind: Metadata, ID: prefix}, func() ([]wire.OpenTx, error) { return l.inner.OpenTransactions(ctx, prefix) })
}

// Fence fences an id.
func (l *Log) Fence(ctx context.Context, id string) error {
	return l.do(Request{Kind: InitProducer, ID: id}, func() error { return l.inner.Fence(ctx, id) })
}

// MaxTransactionTimeout asks the cluster.
func (l *Log) MaxTransactionTimeout(ctx context.Context) (time.Duration, error) {
	return ask(l, Request{Kind: Metadata}, func() (time.Duration, error) { return l.inner.MaxTransactionTimeout(ctx) })
}

// Committed reads positions.
func (l *Log) Committed(ctx context.Context, group string, of []wire.TopicPartition) (map[wire.TopicPartition]wire.Committed, error) {
	return ask(l, Request{Kind: OffsetFetch, ID: group}, func() (map[wire.TopicPartition]wire.Committed, error) {
		return l.inner.Committed(ctx, group, of)
	})
}

// Settled reads those that nothing would change.
func (l *Log) Settled(ctx context.Context, group string, of []wire.TopicPartition) (found map[wire.TopicPartition]wire.Committed, open map[wire.TopicPartition]bool, err error) {
	err = l.do(Request{Kind: OffsetFetch, ID: group}, func() (err error) {
		found, open, err = l.inner.Settled(ctx, group, of)
		return err
	})
	return found, open, err
}

// CommitPlain writes positions.
func (l *Log) CommitPlain(ctx context.Context, who wire.Identity, at []wire.Position) error {
	if err := metadataTooLarge(at); err != nil {
		return err
	}
	return l.do(Request{Kind: OffsetCommit, ID: who.Group}, func() error { return l.inner.CommitPlain(ctx, who, at) })
}

// Unanswered passes: what is lost here was done at once, or never will be.
func (l *Log) Unanswered(who wire.Identity) bool { return l.inner.Unanswered(who) }

// List resolves places.
func (l *Log) List(ctx context.Context, where wire.Where, of []wire.TopicPartition) (map[wire.TopicPartition]int64, error) {
	return ask(l, Request{Kind: ListOffsets}, func() (map[wire.TopicPartition]int64, error) { return l.inner.List(ctx, where, of) })
}

// ListAtTime resolves a time.
func (l *Log) ListAtTime(ctx context.Context, t time.Time, of []wire.TopicPartition) (map[wire.TopicPartition]int64, error) {
	return ask(l, Request{Kind: ListOffsets}, func() (map[wire.TopicPartition]int64, error) { return l.inner.ListAtTime(ctx, t, of) })
}

// ask is do for a call with an answer.
func ask[T any](l *Log, r Request, op func() (T, error)) (T, error) {
	var answer T
	err := l.do(r, func() (err error) {
		answer, err = op()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return answer, nil
}
