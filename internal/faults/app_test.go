package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

// A counter is the smallest app that has everything PROTOCOL names: it counts the records of topic in by key, in topic out, with the
// counts in a changelog, two transactional ids in turn, checkpoint n committed while n+1 is written, and one way to recover. It is not
// the engine; it shows that what the engine relies on holds on a cluster with faults.
type counter struct {
	c   *memory.Cluster
	ids [2]string

	careless bool // restores to the end of the changelog, not to what the commit names: wrong, for the test that finds it

	log     wire.Log
	member  wire.Membership
	tx      wire.Transactions
	app     wire.Appender
	outs    [2]wire.Out // out, log
	reader  wire.Reader
	counts  map[string]int64
	at      int64  // position in topic in
	n       uint64 // the checkpoint that is written
	logEnd  int64  // of the changelog, behind the last delta
	pending func() error
}

var (
	input     = wire.TopicPartition{Topic: "in"}
	changelog = wire.TopicPartition{Topic: "log"}
)

// records is the size of the input; each checkpoint takes a few of them.
const records = 60

func newCluster(j faults.Judge) (*memory.Cluster, error) {
	c := &memory.Cluster{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Poison: true}
	err := errors.Join(
		c.Create("in", 1, nil),
		c.Create("out", 1, nil),
		c.Create("log", 1, map[string]string{"cleanup.policy": "compact"}),
	)
	for i := range records {
		_, appended := c.Append("in", 0, wire.Record{Key: []byte{'a' + byte(i%3)}, Time: c.Start.UnixMilli()})
		err = errors.Join(err, appended)
	}
	c.Judge = j
	return c, err
}

// now is a context that polls: what is at hand, or nothing.
func now() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// run counts until everything is committed. Each error leads to a recovery, and too many of them to a failure.
func (a *counter) run(ctx context.Context) error {
	var failures []error
	for len(failures) < 30 {
		err := a.recover(ctx)
		for err == nil && (a.at < records || a.pending != nil) {
			err = a.checkpoint(ctx)
		}
		if err == nil { // a process that was killed after its last commit is started again, too
			_, err = a.log.Topics(ctx, "in")
		}
		a.stop()
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return fmt.Errorf("no progress: %w", errors.Join(failures...))
}

// stop ends the process without a word.
func (a *counter) stop() {
	if a.tx != nil {
		_ = a.tx.Close()
		a.tx = nil
	}
	if a.log != nil {
		_ = a.log.Close()
		a.log = nil
	}
}

// recover is what a start does: take over the ids, read positions when nothing is pending, restore to exactly what they name.
func (a *counter) recover(ctx context.Context) (err error) {
	a.counts, a.at, a.n, a.logEnd, a.pending = map[string]int64{}, 0, 1, 0, nil
	if a.log, err = a.c.Connect(ctx, "counter"); err != nil {
		return err
	}
	if a.member, err = a.log.Join(ctx, wire.GroupConfig{
		Group: "g", Instance: "i", Topics: []string{"in"}, SessionTimeout: time.Minute,
		Plan: func(m []wire.Member) map[string]wire.Assignment {
			return map[string]wire.Assignment{m[0].ID: {Partitions: []wire.TopicPartition{input}}}
		},
	}); err != nil {
		return err
	}
	if a.tx, err = a.log.Transactions(ctx, wire.TxConfig{IDs: a.ids, Timeout: time.Minute}); err != nil {
		return err
	}
	if a.app, err = a.tx.Appender("task", a.n); err != nil {
		return err
	}
	for i, topic := range []string{"out", "log"} {
		if a.outs[i], err = a.app.To(ctx, topic); err != nil {
			return err
		}
	}
	found, err := a.log.Committed(ctx, "g", []wire.TopicPartition{input})
	if err != nil {
		return err
	}
	if at, ok := found[input]; ok {
		a.at = at.Offset
		if a.logEnd, err = strconv.ParseInt(at.Metadata, 10, 64); err != nil {
			return err
		}
	}
	if a.careless {
		ends, err := a.log.List(ctx, wire.End, []wire.TopicPartition{changelog})
		if err != nil {
			return err
		}
		a.logEnd = ends[changelog]
	}
	if err := a.restore(ctx); err != nil {
		return err
	}
	a.reader, err = a.log.Read(ctx, input, a.at, wire.ReadOptions{Committed: true})
	return err
}

// restore reads the changelog up to exactly the target. Fetches that fail are asked again.
func (a *counter) restore(ctx context.Context) error {
	r, err := a.log.Read(ctx, changelog, 0, wire.ReadOptions{Committed: !a.careless})
	if err != nil {
		return err
	}
	for next := int64(0); next < a.logEnd; {
		b, err := r.Next(now())
		if errors.Is(err, faults.ErrKilled) {
			return err
		}
		if err != nil {
			continue // a marker is on its way, or the fetch was refused
		}
		for _, rec := range b.Records {
			if rec.Offset < a.logEnd {
				if a.counts[string(rec.Key)], err = strconv.ParseInt(string(rec.Value), 10, 64); err != nil {
					return err
				}
			}
		}
		next = b.Next
		b.Release()
	}
	return nil
}

// checkpoint processes some records, cuts, and commits the checkpoint before this one: one is on its way while the next is written.
func (a *counter) checkpoint(ctx context.Context) error {
	if err := a.process(); err != nil {
		return err
	}
	a.app.Cut(a.n)
	if a.pending != nil {
		if err := a.pending(); err != nil {
			return err
		}
	}
	ends, err := a.tx.Flush(ctx, a.n)
	if err != nil {
		return err
	}
	if end, ok := ends[changelog]; ok {
		a.logEnd = end
	}
	n, wrote := a.n, a.tx.Wrote(a.n)
	at := wire.Position{TopicPartition: input, Committed: wire.Committed{Offset: a.at, Metadata: strconv.FormatInt(a.logEnd, 10)}}
	a.n++
	if a.pending = nil; wrote {
		a.pending = func() error { return a.tx.Commit(ctx, n, a.member.Identity(), []wire.Position{at}) }
	}
	return nil
}

// process takes up to seven records.
func (a *counter) process() error {
	b, err := a.reader.Next(now())
	if errors.Is(err, faults.ErrKilled) {
		return err
	}
	if err != nil {
		return nil // nothing at hand
	}
	defer b.Release()
	changed := map[string]bool{}
	for i, rec := range b.Records {
		if i == 7 { // the rest is for the next checkpoint: read it again
			a.reader, err = a.log.Read(context.Background(), input, a.at, wire.ReadOptions{Committed: true})
			break
		}
		a.counts[string(rec.Key)]++
		a.at = rec.Offset + 1
		changed[string(rec.Key)] = true
		a.outs[0].Append(0, rec.Time, rec.Key, strconv.AppendInt(nil, a.counts[string(rec.Key)], 10), nil)
	}
	for _, key := range []string{"a", "b", "c"} {
		if changed[key] {
			a.outs[1].Append(0, a.c.Start.UnixMilli(), []byte(key), strconv.AppendInt(nil, a.counts[key], 10), nil)
		}
	}
	return err
}
