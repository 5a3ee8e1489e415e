package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// standbys keep copies of the state of tasks that other processes run, in this process's database and in the same place as if it ran
// them. They go from one committed place to the next, by the rule of a restore. So when a task comes here, what is left to restore is
// what was committed since.
type standbys struct {
	s    *session
	l    *kafkaLog
	pace *pace
	news chan struct{} // a token when there is something new to follow

	mu struct {
		sync.Mutex
		told    memberData // the last answer of the leader
		follows map[string]*follow
		asked   bool  // for a round, since the last answer
		since   int64 // that answer, in ms

		dormant  map[string]taskRef // whose state nobody needs here for now
		measured int64              // when that was measured last, in ms
	}
}

// A follow is one task's copy. Only who holds the task's lock writes its state.
type follow struct {
	ref    taskRef
	ctx    context.Context
	cancel context.CancelFunc
	ready  bool        // the formats of its stores are known; of the goroutine that follows
	held   int64       // since when a transaction holds it up, in ms; 0: none does; of that goroutine, too
	coming atomic.Bool // it moves here as soon as it lacks little

	mu    sync.Mutex
	known bool  // lag is
	whole bool  // it was at a committed place once
	lag   int64 // records that are missing up to the last place that is known to be committed
	err   error // why it does not go on
}

// See Config.
const (
	standbyEvery = 5 // checkpoints between two looks at what is committed
	standbyLeast = 50 * time.Millisecond
	standbyMost  = time.Second

	// comingPatience is how long a member waits for the last of the tasks that come to it before it asks for those that could, in ms.
	comingPatience = 30_000
)

func newStandbys(s *session, l *kafkaLog) *standbys {
	b := &standbys{s: s, l: l, pace: &pace{perSecond: s.config.StandbyBytesPerSecond}, news: make(chan struct{}, 1)}
	b.mu.follows, b.mu.measured = map[string]*follow{}, s.now()
	return b
}

// assign takes the leader's answer.
func (b *standbys) assign(d memberData) {
	b.mu.Lock()
	b.mu.told, b.mu.asked, b.mu.since = d, false, b.s.now()
	b.mu.Unlock()
	b.reconcile()
}

// reconcile follows what the leader asked for, without what runs here or is about to. The session's loop calls it.
func (b *standbys) reconcile() {
	if b == nil || b.s.base.db == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	want := map[string]taskRef{}
	for _, t := range b.s.refs {
		if slices.Contains(b.mu.told.Follow, t.name()) && t.logged() && b.s.tasks[t.sub][t.partition] == nil && b.s.making[t.name()] == nil {
			want[t.name()] = t
		}
	}
	b.restLocked(want)
	for name, f := range b.mu.follows {
		if _, ok := want[name]; !ok {
			f.cancel()
			delete(b.mu.follows, name)
			b.s.resume("standby of " + name)
		}
	}
	for name, t := range want {
		f := b.mu.follows[name]
		if f == nil {
			f = &follow{ref: t}
			f.ctx, f.cancel = context.WithCancel(b.s.ctx)
			b.mu.follows[name] = f
		}
		f.coming.Store(slices.Contains(b.mu.told.Coming, name))
	}
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// following are the copies there are, in the order of their names.
func (b *standbys) following() (all []*follow) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.mu.follows {
		all = append(all, f)
	}
	slices.SortFunc(all, func(x, y *follow) int { return strings.Compare(x.ref.name(), y.ref.name()) })
	return all
}

// run follows until ctx ends.
func (b *standbys) run(ctx context.Context) {
	every := min(max(standbyEvery*b.s.config.CheckpointInterval, standbyLeast), standbyMost)
	for ctx.Err() == nil {
		b.round(ctx)
		select {
		case <-ctx.Done():
		case <-b.news:
		case <-time.After(every):
		}
	}
}

// round brings every copy to what is committed now, and asks for a round of the group when what comes here is warm.
func (b *standbys) round(ctx context.Context) {
	b.tend(ctx)
	all := b.following()
	if len(all) == 0 {
		return
	}
	to, ends, err := b.goals(ctx, all)
	if err != nil {
		for _, f := range all {
			b.note(f, err)
		}
		return
	}
	b.s.sideBySide(len(all), func(i int) bool {
		if goal, known := to[all[i].ref.name()]; known {
			all[i].held = 0
			b.advance(all[i], goal, ends)
		}
		return true
	})
	b.ask()
}

// advance brings one copy to its goal: those of its stores of which something was committed.
func (b *standbys) advance(f *follow, to targets, ends map[wire.TopicPartition]int64) {
	name := f.ref.name()
	defer b.l.hold(name)()
	if f.ctx.Err() != nil {
		return // it comes here, or is no longer ours
	}
	lag, err := b.s.missing(f.ref, to)
	if err != nil {
		b.note(f, err)
		return
	}
	f.setLag(lag)
	b.s.base.warmth.set(name, lag)
	var errs []error
	for _, st := range f.ref.sub.Stores {
		target, named := to[storeTag(st.Name)]
		if !st.Changelog || !named {
			continue
		}
		tp := wire.TopicPartition{Topic: b.s.plan.changelogTopic(st.Name), Partition: int32(f.ref.partition)}
		r := &restorer{l: b.l, t: f.ref, st: st, tp: tp, pace: b.pace, moved: func(int64) {}, count: b.s.counter("weir_standby_records_total", "task", name)}
		reached, err := r.restore(f.ctx, target, true, ends[tp])
		if err == nil && reached < target {
			err = fmt.Errorf("changelog %s/%d was left at %d, before the committed place %d", tp.Topic, tp.Partition, reached, target)
		}
		errs = append(errs, err)
	}
	err = errors.Join(errs...)
	if f.ctx.Err() != nil {
		return
	}
	b.note(f, err)
	if err != nil {
		return
	}
	f.setLag(0)
	b.s.base.warmth.set(name, 0)
}

func (f *follow) setLag(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.lag = true, n
	f.whole = f.whole || n == 0
}

// state is how much is missing; false as long as it is not known.
func (f *follow) state() (lag int64, known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lag, f.known, f.err
}

// readable reports whether the copy has been whole at some committed place, so that it is old at worst.
func (f *follow) readable() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.whole
}

// copyOf finds a copy that can be read.
func (b *standbys) copyOf(sub *Sub, partition int) (taskRef, bool) {
	for _, f := range b.following() {
		if f.ref.sub == sub && f.ref.partition == partition && f.readable() {
			return f.ref, true
		}
	}
	return taskRef{}, false
}

// note shows why a copy does not go on, or that it does. The tasks of this process run on: a copy is not needed for what is right.
func (b *standbys) note(f *follow, err error) {
	if f.ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	f.err = err
	f.mu.Unlock()
	if !b.s.threaded {
		return // a driver does not wait for anything, and looks again when it is polled
	}
	what := "standby of " + f.ref.name()
	if err != nil {
		b.s.pause(what, err)
		return
	}
	b.s.resume(what)
}

// ask asks for a round of the group when the tasks that come here lack little: all of them, or after a while those that do.
func (b *standbys) ask() {
	b.mu.Lock()
	coming, warm := 0, 0
	for name, f := range b.mu.follows {
		if !f.coming.Load() {
			continue
		}
		coming++
		if lag, known, err := f.state(); known && err == nil && lag <= b.s.config.MoveLag {
			warm++
			b.s.base.warmth.set(name, lag)
		}
	}
	late := b.s.now()-b.mu.since >= comingPatience
	due := !b.mu.asked && warm > 0 && (warm == coming || late)
	b.mu.asked = b.mu.asked || due
	b.mu.Unlock()
	if due {
		b.s.app.log.Info("asking the group for a round: this process has the state of tasks that are to come to it", "warm", warm, "coming", coming)
		b.l.seat.m.Rejoin()
	}
}
