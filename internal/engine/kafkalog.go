package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
)

// A kafkaLog is the commit log of an app with a cluster: one transaction holds a checkpoint's outputs, repartitioned records,
// changelogs, task records and source positions. The transaction is the checkpoint: nothing else could disagree with it.
//
// Under AtLeastOnce sinks and repartition topics are written by a plain writer, flushed before the transaction ends; an app
// without state then needs no transaction at all.
type kafkaLog struct {
	s     *session
	seat  *seat
	held  string            // the member that the session's tasks were assigned to
	tx    wire.Transactions // nil when nothing needs one
	plain wire.Writer       // nil under ExactlyOnce
	batch state.Batch
	sent  map[wire.TopicPartition]wire.Committed // what was committed last; empty where that may not be so any more
	doubt bool                                   // sent may not be what the group has: see doubts
	stop  context.CancelFunc

	touched atomic.Int64 // partitions that the last commit wrote to; the loop reads it while the next one is under way
	purged  int64        // when repartition topics were last purged, in ms
	pace    pace         // of restores

	mu struct { // tasks are restored beside those that run
		sync.Mutex
		tasks map[string]*loggedTask
		locks map[string]*sync.Mutex
	}
}

// hold waits until nobody else writes the state of a task that does not run here: a copy that follows it, a restore. release ends it.
func (l *kafkaLog) hold(task string) (release func()) {
	l.mu.Lock()
	lock := l.mu.locks[task]
	if lock == nil {
		lock = &sync.Mutex{}
		l.mu.locks[task] = lock
	}
	l.mu.Unlock()
	lock.Lock()
	return lock.Unlock
}

func (l *kafkaLog) put(task string, t *loggedTask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.tasks[task] = t
}

func (l *kafkaLog) task(name string) *loggedTask {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.tasks[name]
}

// A loggedTask is what the log knows of a task.
type loggedTask struct {
	outs    []wire.Out           // of changelogs, one per store
	record  wire.Out             // of the tasks topic, once it is used
	at      []connector.Position // what the last record says
	offsets []int64              // next offset of each changelog after the last committed delta
	value   []byte
	told    bool // the formats of its stores are in the tasks topic
	tells   bool // its records are kept up to date: the group does not keep all that they say, or may forget it while there is state
}

// openKafkaLog joins the group, fences what is left of earlier lives, and takes the transactional ids.
func openKafkaLog(ctx context.Context, s *session) (*kafkaLog, error) {
	l := &kafkaLog{s: s, sent: map[wire.TopicPartition]wire.Committed{}, pace: pace{perSecond: s.config.RestoreBytesPerSecond}}
	l.mu.tasks, l.mu.locks = map[string]*loggedTask{}, map[string]*sync.Mutex{}
	if err := s.ensureTopics(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(s.verifySources(), s.learnIDs(ctx)); err != nil {
		return nil, err
	}
	if err := l.sit(ctx); err != nil {
		return l, err
	}
	assigned, err := l.seat.assigned(ctx, s)
	if err != nil {
		return l, err
	}
	l.held, s.owned = assigned.Member, ownedBy(s.refs, assigned)
	s.standbys = newStandbys(s, l)
	s.standbys.mu.told = decodeMember(assigned.UserData)
	s.base.warmth.run(s.owned, s.standbys.mu.told)
	if err := l.fenceDead(ctx, assigned); err != nil {
		return l, err
	}
	if err := l.openWriters(ctx); err != nil {
		return l, err
	}
	if len(s.owned) == 0 { // with the local exchange one process has all tasks
		return l, nil
	}
	return l, s.verifyDrained(ctx)
}

// sit takes the app's seat in its group, unless an earlier session has.
func (l *kafkaLog) sit(ctx context.Context) error {
	s, b := l.s, l.s.base
	b.warmth.know(s.refs)
	if b.seat != nil {
		l.seat = b.seat
		return nil
	}
	topics := map[string]bool{s.plan.tasksTopic(): true}
	for _, t := range s.refs {
		for _, p := range t.partitions {
			topics[p.Topic] = true
		}
		for _, p := range s.changelogsOf(t) { // a broker forgets positions of topics that nobody subscribes to
			topics[p.Topic] = topics[p.Topic] || len(s.committable(t.sub)) == 0
		}
	}
	maps.DeleteFunc(topics, func(_ string, in bool) bool { return !in })
	if b.db != nil {
		if err := b.nameDisk(s.refs); err != nil {
			return err
		}
		if err := s.survey(ctx, s.refs); err != nil {
			return fmt.Errorf("look at what is on disk: %w", err)
		}
	}
	how := placing{together: s.config.Local, standbys: s.config.Standbys, moveLag: s.config.MoveLag}
	held, log := &rounds{}, s.app.log // of the seat, which outlives the session
	var err error
	b.seat, err = join(context.WithoutCancel(ctx), b.log, wire.GroupConfig{
		Group: s.plan.App, Instance: b.static, Topics: slices.Sorted(maps.Keys(topics)),
		SessionTimeout: s.config.SessionTimeout, RebalanceTimeout: rebalanceTimeout(s.config),
		UserData: func() []byte {
			return b.warmth.tell(memberData{Version: memberVersion, Instance: b.instance, Rack: s.config.Rack, Advertise: s.config.Advertise}).encode()
		},
		Plan: func(members []wire.Member) map[string]wire.Assignment {
			out := plan(b.warmth.tasks(), members, how)
			held.note(members, out).tell(log, len(members))
			return out
		},
	}, s.threaded)
	l.seat = b.seat
	if err != nil {
		return err
	}
	return l.seat.settle(ctx, s, b.warmth.outdates)
}

// rebalanceTimeout is how long a member has to give up what it must: a task may be as slow as it is allowed to be in the checkpoint that is
// under way, and again in the one that gives it up. With the defaults that is a minute.
func rebalanceTimeout(c *Config) time.Duration {
	return max(2*c.MaxTaskPause, c.SessionTimeout, 10*time.Second)
}

// ids are the transactional ids of an instance.
func (s *session) ids(instance string) [2]string {
	prefix := s.plan.App + "-" + strings.ReplaceAll(instance, "-", "~")
	return [2]string{prefix + "-0", prefix + "-1"}
}

// fenceDead ends the transactions of instances that are gone, so that readers do not wait for their timeout. It is a matter of
// liveness: a transaction of a member that is fenced by mistake is done again.
func (l *kafkaLog) fenceDead(ctx context.Context, a *wire.Assigned) error {
	open, err := l.s.base.log.OpenTransactions(ctx, l.s.plan.App+"-")
	if err != nil {
		return fmt.Errorf("list open transactions: %w", err)
	}
	alive := map[string]bool{}
	for _, instance := range append(decodeMember(a.UserData).Alive, l.s.base.instance) {
		for _, id := range l.s.ids(instance) {
			alive[id] = true
		}
	}
	if l.seat.m.Identity().Generation != a.Generation {
		return nil // who has joined meanwhile is not among the living of this assignment; the next leader looks again
	}
	for _, t := range open {
		if alive[t.ID] || !l.s.isOwnID(t.ID) {
			continue
		}
		l.s.app.log.Info("ending the transaction of an instance that is gone", "id", t.ID, "began", t.Started)
		if err := l.s.base.log.Fence(ctx, t.ID); err != nil {
			return fmt.Errorf("fence %s: %w", t.ID, err)
		}
	}
	return nil
}

// isOwnID reports whether a transactional id has the form of this app's: app foo must leave those of foo-2 alone.
func (s *session) isOwnID(id string) bool {
	rest, ok := strings.CutPrefix(id, s.plan.App+"-")
	if !ok || len(rest) < 3 || (!strings.HasSuffix(rest, "-0") && !strings.HasSuffix(rest, "-1")) {
		return false
	}
	return isInstance(rest[:len(rest)-2])
}

// openWriters opens what the guarantee needs.
func (l *kafkaLog) openWriters(ctx context.Context) (err error) {
	s := l.s
	c := wire.WriterConfig{Name: s.plan.App, BufferedBytes: s.config.MemoryBytes / 8}
	if s.config.Guarantee != ExactlyOnce {
		if l.plain, err = s.base.log.Writer(ctx, c); err != nil {
			return fmt.Errorf("open writer: %w", err)
		}
	}
	if s.config.Guarantee == ExactlyOnce || s.stateful() > 0 {
		if err := l.checkTimeout(ctx); err != nil {
			return err
		}
		tc := wire.TxConfig{WriterConfig: c, IDs: s.ids(s.base.instance), Timeout: s.config.TransactionTimeout}
		if l.tx, err = s.base.log.Transactions(ctx, tc); err != nil {
			return fmt.Errorf("open transactions %s: %w", tc.IDs[0], err)
		}
	}
	if s.threaded {
		l.watch()
	}
	return nil
}

// checkTimeout compares the transaction timeout with what the cluster accepts.
func (l *kafkaLog) checkTimeout(ctx context.Context) error {
	most, err := l.s.base.log.MaxTransactionTimeout(ctx)
	if err != nil {
		return fmt.Errorf("read the cluster's transaction timeout: %w", err)
	}
	if want := l.s.config.TransactionTimeout; most > 0 && want > most {
		return fmt.Errorf("%w: TransactionTimeout is %v, and the cluster accepts at most %v (transaction.max.timeout.ms)", ErrConfig, want, most)
	}
	return nil
}

// watch wakes tasks when room has come in a writer, and reports one that failed.
func (l *kafkaLog) watch() {
	ctx, cancel := context.WithCancel(l.s.ctx)
	l.stop = cancel
	for _, w := range l.writers() {
		l.s.wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-w.Drained():
					l.s.post(event{wakeAll: true})
				case <-w.Failed():
					l.s.post(event{failed: &errRecover{fmt.Errorf("writer: %w", w.Err())}})
					return
				}
			}
		})
	}
}

func (l *kafkaLog) writers() (ws []wire.Writer) {
	if l.tx != nil {
		ws = append(ws, l.tx)
	}
	if l.plain != nil {
		ws = append(ws, l.plain)
	}
	return ws
}

func (l *kafkaLog) full() bool {
	return l.tx != nil && l.tx.Full() || l.plain != nil && l.plain.Full()
}

func (l *kafkaLog) guarantee() string { return l.s.config.Guarantee.String() }

// equip opens a task's appenders and its changelogs.
func (l *kafkaLog) equip(r *runner, next uint64) (err error) {
	if l.tx != nil {
		if r.appender, err = l.tx.Appender(r.name, next); err != nil {
			return fmt.Errorf("task %s: %w", r.name, err)
		}
		r.env.Appender = r.appender
	}
	if l.plain != nil {
		if r.plain, err = l.plain.Appender(r.name, next); err != nil {
			return fmt.Errorf("task %s: %w", r.name, err)
		}
		r.env.SinkAppender = r.plain
		if r.env.Appender == nil {
			r.env.Appender = r.plain
		}
	}
	t := l.task(r.name)
	t.outs, t.record = nil, nil
	r.logged = t
	if t.tells = l.s.hasRecord(r.sub); t.tells {
		if t.record, err = r.env.Appender.To(r.env.Context, l.s.plan.tasksTopic()); err != nil {
			return fmt.Errorf("task %s: %w", r.name, err)
		}
	}
	for _, st := range r.sub.Stores {
		if !st.Changelog {
			t.outs = append(t.outs, nil)
			continue
		}
		out, err := r.appender.To(r.env.Context, l.s.plan.changelogTopic(st.Name))
		if err != nil {
			return fmt.Errorf("task %s: changelog of %s: %w", r.name, st.Name, err)
		}
		t.outs = append(t.outs, out)
	}
	return nil
}

// write puts a task's deltas and its record into the transaction.
func (l *kafkaLog) write(r *runner, cut *task.Cut, handles []connector.Handle) error {
	t := r.logged
	now := l.s.now()
	p := int32(r.t.Partition)
	doubted := l.tx != nil && l.s.config.Guarantee != AtMostOnce && l.doubts()
	if t.mustTell(cut, handles, doubted) {
		if err := l.writeRecord(r, cut, handles, doubted, now); err != nil {
			return err
		}
	}
	for _, d := range cut.Deltas {
		i := r.storeIndex(d.Store)
		out := t.outs[i]
		if out == nil {
			continue
		}
		if !t.told && d.Len() > 0 {
			t.told = true
			if err := l.writeFormats(r, now); err != nil {
				return err
			}
		}
		for k, v := range d.All() {
			out.Append(p, now, k, v, nil)
		}
	}
	if r.appender != nil {
		r.appender.Cut(cut.N)
	}
	if r.plain != nil {
		r.plain.Cut(cut.N)
	}
	return nil
}

// mustTell reports whether the task's record is part of a checkpoint. It outlives the group's positions, which expire: so whenever state has
// changed. It has what the group does not keep: positions of other sources, when they have moved, and handles of sinks outside the log. A
// checkpoint that changes none of it opens no transaction for a record. As long as positions are doubted it has all of them that have moved.
func (t *loggedTask) mustTell(cut *task.Cut, handles []connector.Handle, doubted bool) bool {
	changed := slices.ContainsFunc(cut.Deltas, func(d *overlay.Delta) bool { return d.Len() > 0 })
	moved := (t.tells || doubted) && !slices.Equal(t.at, cut.Positions)
	if changed || moved {
		t.at = slices.Clone(cut.Positions)
	}
	t.tells = t.tells || changed || hasHandle(handles)
	return changed || moved || hasHandle(handles)
}

// writeRecord puts a task's record into the tasks topic.
func (l *kafkaLog) writeRecord(r *runner, cut *task.Cut, handles []connector.Handle, doubted bool, now int64) (err error) {
	t := r.logged
	if t.record == nil {
		if t.record, err = r.env.Appender.To(r.env.Context, l.s.plan.tasksTopic()); err != nil {
			return &errRecover{fmt.Errorf("task %s: %w", r.name, err)}
		}
	}
	rec := recordOf(&prepared{r: r, cut: cut, handles: handles})
	if doubted {
		rec.doubt(cut)
	}
	t.value = rec.append(t.value[:0])
	t.record.Append(0, now, []byte(r.name), t.value, nil)
	return nil
}

// hasHandle reports whether a sink has prepared something. The record that carries it stays until one without follows.
func hasHandle(handles []connector.Handle) bool {
	return slices.ContainsFunc(handles, func(h connector.Handle) bool { return h != nil })
}

// commit waits for the acknowledgements, ends the transaction, and writes the deltas to the database.
func (l *kafkaLog) commit(ctx context.Context, cp *checkpoint) error {
	if l.plain != nil {
		if _, err := l.plain.Flush(ctx, cp.n); err != nil {
			return &errRecover{fmt.Errorf("checkpoint %d: flush: %w", cp.n, err)}
		}
	}
	var ends map[wire.TopicPartition]int64
	if l.tx != nil {
		var err error
		if ends, err = l.tx.Flush(ctx, cp.n); err != nil {
			return &errRecover{fmt.Errorf("checkpoint %d: flush: %w", cp.n, err)}
		}
	}
	positions := l.positions(cp, ends)
	l.touched.Store(int64(len(ends) + len(positions)))
	err := l.end(ctx, cp.n, positions)
	l.askWhereDoubted()
	if err != nil {
		return err
	}
	for _, p := range positions {
		l.sent[p.TopicPartition] = p.Committed
	}
	tellRelays(cp, ends)
	if err := l.apply(cp); err != nil {
		return fmt.Errorf("checkpoint %d: %w", cp.n, err)
	}
	l.purge(ctx)
	return commitSinks(ctx, cp)
}

// purgeEvery is how often repartition topics are emptied below what is committed, in ms.
const purgeEvery = 30_000

// purge deletes what was read and committed from repartition topics, which have no retention of their own. What fails is done the next time.
func (l *kafkaLog) purge(ctx context.Context) {
	now := l.s.now()
	if now-l.purged < purgeEvery {
		return
	}
	l.purged = now
	before := map[wire.TopicPartition]int64{}
	for tp, c := range l.sent {
		if l.s.isExchangeTopic(tp.Topic) {
			before[tp] = c.Offset
		}
	}
	if len(before) == 0 {
		return
	}
	if err := l.s.base.log.DeleteRecords(ctx, before); err != nil {
		l.s.app.log.Warn("repartition topics were not purged", "error", err)
	}
}

// positions are those that moved, and at least one when there is a transaction: it carries the member's generation, so that a
// process the group has given up cannot commit.
func (l *kafkaLog) positions(cp *checkpoint, ends map[wire.TopicPartition]int64) (out []wire.Position) {
	if l.s.config.Guarantee == AtMostOnce {
		return nil // they were committed before
	}
	l.sayAnew()
	var unmoved *wire.Position
	for _, part := range cp.parts {
		r := part.r
		l.s.base.numbered = max(l.s.base.numbered, r.number(part.cut))
		for i, st := range r.sub.Stores {
			if st.Source != nil {
				r.logged.offsets[i] = max(r.logged.offsets[i], placeInSource(st, r.t.Partition, part.cut.Positions[st.Source.Input]))
			}
			if end, ok := ends[wire.TopicPartition{Topic: l.s.plan.changelogTopic(st.Name), Partition: int32(r.t.Partition)}]; ok {
				r.logged.offsets[i] = end
			}
		}
		for _, p := range l.s.positionsOf(r, part.cut) {
			if before := l.sent[p.TopicPartition]; before.Offset != p.Offset || saysAnew(before.Metadata, p.Metadata) {
				out = append(out, p)
			} else if unmoved == nil {
				unmoved = &p
			}
		}
	}
	if len(out) == 0 && unmoved != nil && l.tx != nil && l.tx.Wrote(cp.n) {
		out = append(out, *unmoved)
	}
	if len(out) == 0 && l.tx != nil && l.tx.Wrote(cp.n) {
		out = append(out, wire.Position{TopicPartition: wire.TopicPartition{Topic: l.s.plan.tasksTopic()}})
	}
	return out
}

// end commits, again with the new generation when the group has moved on while every task is still held.
func (l *kafkaLog) end(ctx context.Context, n uint64, at []wire.Position) error {
	for tries := 0; ; tries++ {
		turned := l.seat.turned()
		who, err := l.identity()
		switch {
		case err != nil:
			return &errRecover{fmt.Errorf("checkpoint %d: %w", n, err)}
		case l.tx != nil:
			err = l.tx.Commit(ctx, n, who, at)
		case len(at) > 0:
			err = l.s.base.log.CommitPlain(ctx, who, at)
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, wire.ErrGeneration) || !l.s.threaded || tries >= generationTries:
			return &errRecover{fmt.Errorf("checkpoint %d: commit: %w", n, err)}
		}
		select {
		case <-ctx.Done():
			return &errRecover{ctx.Err()}
		case <-turned:
		case <-time.After(generationWait):
		}
	}
}

// identity is who commits: the member whose assignment the session goes by, at the group's present generation. A process that was suspended may have lost
// its seat and got another one before the session hears of it. In the name of that one it would commit tasks that others have had meanwhile.
func (l *kafkaLog) identity() (wire.Identity, error) {
	who := l.seat.m.Identity()
	if who.Member != l.held {
		return who, fmt.Errorf("%w: the tasks are those of member %q, and the seat is %q's now", wire.ErrGeneration, l.held, who.Member)
	}
	return who, nil
}

// Between the last join of a round and the answers to it commits are refused: the new generation is waited for. Asking again before it is heard of
// is in vain, but for what the seat may have missed.
const (
	generationWait  = 200 * time.Millisecond
	generationTries = 50
)

// apply writes a committed checkpoint to the database: without sync, for a crash leaves an older prefix and the changelog the rest.
func (l *kafkaLog) apply(cp *checkpoint) error {
	if l.s.base.db == nil {
		return nil
	}
	l.batch.Reset()
	now := l.s.now()
	for _, part := range cp.parts {
		r := part.r
		for _, d := range part.cut.Deltas {
			d.AddTo(&l.batch)
			i := r.storeIndex(d.Store)
			l.batch.Put(keys.StoreRecord(r.name, d.Store, changelogRecord), l.s.changelogPlace(r.sub.Stores[i], r.logged.offsets[i], now))
		}
	}
	if l.batch.Empty() {
		return nil
	}
	return l.s.base.db.Apply(&l.batch, false)
}

// interval stretches the time between checkpoints so that commits do not touch more partitions than the cluster should bear.
func (l *kafkaLog) interval(d time.Duration) time.Duration {
	if most := l.s.config.MaxPartitionCommits; most > 0 {
		d = max(d, time.Duration(l.touched.Load())*time.Second/time.Duration(most))
	}
	return d
}

// close ends the writers. A transaction that is open is ended too, so that readers do not wait for its timeout: by taking its id
// over, which is how anybody would end it.
func (l *kafkaLog) close(clean bool) error {
	if l.stop != nil {
		l.stop()
	}
	if l.seat != nil {
		l.seat.detach()
	}
	var errs []error
	for _, w := range l.writers() {
		errs = append(errs, w.Close())
	}
	if l.tx != nil && !clean {
		ctx, cancel := context.WithTimeout(context.Background(), fenceTimeout)
		defer cancel()
		for _, id := range l.s.ids(l.s.base.instance) {
			if err := l.s.base.log.Fence(ctx, id); err != nil {
				l.s.app.log.Warn("an open transaction is left to its timeout", "id", id, "error", err)
			}
		}
	}
	return errors.Join(errs...)
}

// fenceTimeout bounds how long ending a transaction of our own may take.
const fenceTimeout = 5 * time.Second

// randomInstance names a process that keeps no name.
func randomInstance() string { return "r" + strings.ToLower(rand.Text()[:12]) }

// isInstance reports whether text could be the instance in a transactional id of this app. Instances have no dash there, so an id
// with another one belongs to an app with a longer name; one with a slash is a relay's.
func isInstance(text string) bool { return !strings.ContainsAny(text, "-/") }
