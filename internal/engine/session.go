package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/wire"
)

// A session is one life of an app's tasks: from what the last commit says to a stop or a failure. One goroutine runs its loop;
// workers run the tasks. A driver without goroutines calls poll instead of run.
type session struct {
	app     *App
	plan    *Plan
	config  *Config
	base    *base
	commits commitLog
	ctx     context.Context
	cancel  context.CancelFunc

	threaded bool
	workers  *workers
	events   *queue[event]
	evs      []event
	runners  []*runner          // those that run; changed by the loop under mu
	tasks    map[*Sub][]*runner // by partition
	counts   map[*Sub]int
	wide     map[*Source]int        // how many partitions each source has
	refs     []taskRef              // all tasks of the plan
	owned    []taskRef              // this process's, at the start of the session
	making   map[string]*restoring  // tasks that are being restored, by name
	standbys *standbys              // nil without a cluster
	over     map[*Sub]*atomic.Int32 // how many of a sub-topology's outboxes hold too much

	topics       map[string]wire.Topic // internal ones
	sourceTopics map[string]wire.Topic
	sourceNames  map[*Source][]string       // topics of sources on the app's cluster
	topicIDs     map[inputKey][]topicID     // that inputs read
	logIDs       map[*Sub]map[uint32]string // of changelogs, by the tags of their stores
	followers    []*follower                // of global tables
	releasing    []wire.TopicPartition      // revoked, and not yet given up

	n        uint64       // the last checkpoint begun
	cuts     [2]time.Time // when it was, and the one before it
	inflight *checkpoint  // not committed yet
	early    bool         // another one is wanted soon
	moved    bool         // an input was committed further on than where this session began with it
	draining draining
	gauges   gauges
	changed  error  // why it ends at the next checkpoint, for another session
	final    uint64 // the checkpoint that the session ends with; 0 while it goes on
	clean    bool   // the last checkpoint was the end
	endedN   int    // tasks whose inputs have all ended
	wg       sync.WaitGroup

	mu struct {
		sync.Mutex
		committed uint64
		paused    map[string]error // infrastructure waited for, by what waits
		held      map[*feed][]heldBack
	}
}

// An event is what the session's loop reacts to. One field is set.
type event struct {
	prepared  *prepared
	committed *checkpoint
	failed    error
	ended     *runner
	early     bool
	wakeAll   bool
	group     *wire.GroupEvent
	restored  *restored
	changed   error // sources have other partitions
}

// newSession makes the tasks as the last commit says and starts them.
func newSession(ctx context.Context, a *App, b *base, threaded bool) (s *session, err error) {
	s = &session{app: a, plan: a.plan, config: a.config, base: b, threaded: threaded, events: newQueue[event](),
		tasks: map[*Sub][]*runner{}, counts: map[*Sub]int{}, wide: map[*Source]int{}, making: map[string]*restoring{}, over: map[*Sub]*atomic.Int32{}}
	s.mu.paused = map[string]error{}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	made := context.AfterFunc(ctx, s.cancel) // while tasks are made, what they ask of the outside ends with ctx; later they are finished first
	defer func() {
		if !made() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err = s.describeSources(ctx); err != nil {
		return s, err
	}
	if err = s.count(ctx); err != nil {
		return s, err
	}
	if err = s.loadGlobals(ctx); err != nil {
		return s, err
	}
	s.refs = s.taskRefs()
	for _, sub := range s.plan.Subs {
		s.tasks[sub] = make([]*runner, s.counts[sub])
		s.over[sub] = new(atomic.Int32)
	}
	if s.commits, err = openCommitLog(ctx, s); err != nil {
		return s, err
	}
	saved, err := s.commits.recover(ctx, s.owned)
	if err != nil {
		return s, err
	}
	s.n, s.mu.committed = max(saved.n, b.numbered), saved.n
	s.cuts = [2]time.Time{time.Now(), time.Now()}
	if s.threaded {
		s.workers = newWorkers(s.config.Workers)
	}
	if err = s.addTasks(s.owned, saved); err != nil {
		return s, err
	}
	s.followOthers()
	if s.threaded && len(s.sourceTopics) > 0 {
		s.wg.Go(func() { s.watchSources(s.ctx) })
	}
	return s, nil
}

// followOthers starts what keeps copies of other processes' state.
func (s *session) followOthers() {
	if s.standbys == nil {
		return
	}
	s.standbys.assign(s.standbys.mu.told)
	if s.threaded {
		s.wg.Go(func() { s.standbys.run(s.ctx) })
	}
}

// count finds how many partitions, and so tasks, each sub-topology has.
func (s *session) count(ctx context.Context) error {
	var problems []error
	for _, sub := range s.plan.Subs {
		n, err := s.countOf(ctx, sub)
		if err != nil {
			problems = append(problems, err)
		}
		s.counts[sub] = n
	}
	return errors.Join(problems...)
}

// countOf is the number of partitions of a sub-topology: the greatest among its sources, which must be equal where state or a
// join puts them together; behind exchanges alone what is asked for, or the count upstream.
func (s *session) countOf(ctx context.Context, sub *Sub) (int, error) {
	n := 0
	for _, src := range sub.Sources {
		p, err := src.Partitions(ctx, s.base.env)
		if err != nil {
			return 0, fmt.Errorf("source %s: %w", src.Name, topicError(err))
		}
		if n != 0 && p != n && sub.Stateful() {
			return 0, fmt.Errorf("%w: %s has %d partitions and %s has %d: give both the same count, or Repartition one of them",
				ErrCoPartition, s.named(ctx, sub.Sources[0]), n, s.named(ctx, src), p)
		}
		s.wide[src] = p
		n = max(n, p)
	}
	asked, by := 0, ""
	for _, x := range sub.In {
		if x.Partitions > asked {
			asked, by = x.Partitions, x.Name
		}
	}
	if len(sub.Sources) > 0 {
		if asked != 0 && asked != n {
			return 0, fmt.Errorf("%w: %s has %d partitions, and %s, which meets it, was told Partitions(%d): leave that out, or make it %d",
				ErrCoPartition, s.named(ctx, sub.Sources[0]), n, by, asked, n)
		}
		return n, nil
	}
	if asked != 0 {
		return asked, nil
	}
	for _, x := range sub.In {
		n = max(n, s.counts[x.From])
	}
	return n, nil
}

// named is a source by its name and, where that is another, its topics.
func (s *session) named(ctx context.Context, src *Source) string {
	topics, err := src.Topics(ctx, s.base.env)
	if _, same := topics[src.Name]; err != nil || same || len(topics) == 0 { // who asks has an error already
		return src.Name
	}
	return fmt.Sprintf("%s (%s)", src.Name, strings.Join(slices.Sorted(maps.Keys(topics)), ", "))
}

// addTasks makes tasks as the last commit says, and starts them. All that exchange records in this process are made together.
func (s *session) addTasks(refs []taskRef, saved *saved) error {
	var added []*runner
	for _, t := range refs {
		r := &runner{s: s, sub: t.sub, name: t.name(), ref: t, box: newQueue[message]()}
		if err := s.makeTask(r, t.partition, saved.tasks[r.name]); err != nil {
			return errors.Join(err, r.abandon())
		}
		added = append(added, r)
		s.tasks[t.sub][t.partition] = r
	}
	s.mu.Lock()
	s.runners = append(s.runners, added...)
	s.mu.Unlock()
	for _, t := range refs {
		if t.logged() {
			s.base.warmth.set(t.name(), 0)
		}
	}
	if s.config.Local {
		s.connect(added)
	}
	for _, r := range added {
		if err := r.t.Start(s.now()); err != nil {
			return err
		}
		r.publish()
	}
	for _, r := range added {
		s.startFeeds(r)
	}
	return nil
}

// connect tells receivers of local exchanges who waits for room in them.
func (s *session) connect(senders []*runner) {
	for _, r := range senders {
		for _, x := range r.sub.Out {
			if !s.config.local(x) {
				continue
			}
			for _, to := range s.tasks[x.To] {
				to.prev = append(to.prev, r)
			}
		}
	}
}

// startFeeds sets a task going.
func (s *session) startFeeds(r *runner) {
	if !s.threaded {
		return
	}
	s.wake(r)
	for _, c := range r.carriers {
		r.wg.Go(func() { c.run(r.env.Context) })
	}
	for _, f := range r.feeds {
		ctx, cancel := context.WithCancel(r.env.Context)
		f.cancel = cancel
		r.wg.Go(func() { f.run(ctx) })
	}
}

// envOf is what a task is made with, or read with where it does not run.
func (s *session) envOf(ctx context.Context, t taskRef) *TaskEnv {
	name := t.name()
	return &TaskEnv{
		Context: ctx, Task: connector.Task{Name: t.sub.Name, Partition: t.partition}, Connector: s.base.env, DB: s.base.db,
		Prefix:     func(store string) []byte { return keys.Rows(name, store) },
		FormatKey:  func(store string) []byte { return keys.StoreRecord(name, store, formatRecord) },
		StateBytes: s.config.MemoryBytes / 2 / int64(max(1, s.stateful())),
		Targets:    func(exchange string) int { return s.counts[t.sub.out(exchange).To] },
		Senders:    func(exchange string) int { return s.counts[t.sub.in(exchange).From] },
		Pending:    func(exchange string) int64 { return s.pendingAt(t.sub.out(exchange)) },
		Topic:      s.exchangeTopicOf(t.sub),
		Count:      s.counter,
		Now:        s.now,
		KeyedBy:    s.keyedBy(t.sub),
		Warn:       s.app.warn,
	}
}

// makeTask makes one task.
func (s *session) makeTask(r *runner, partition int, rec *taskRecord) error {
	ctx, cancel := context.WithCancel(s.ctx)
	r.cancel = cancel
	env := s.envOf(ctx, r.ref)
	env.Send = func(exchange string, p int, b task.Batch) { s.deliver(r, exchange, p, b) }
	env.Outbox = func(node string, env connector.Env) (connector.Env, error) { return s.outbox(r, node, env) }
	env.Recovered = rec.handlesOf
	env.Async = r.async
	r.env = env
	if rec != nil && rec.n > s.n {
		r.lift = rec.n - s.n
	}
	r.gates = s.gates(r.sub)
	if err := s.commits.equip(r, s.n+1); err != nil {
		return err
	}
	t, err := r.sub.New(env)
	if err != nil {
		return fmt.Errorf("task %s: %w", r.name, err)
	}
	r.t = t
	r.beginsAt(rec)
	if s.threaded {
		t.Wait = r.waiter()
	}
	restart := func(f *feed) {
		if rec != nil {
			f.end = rec.position(f.name)
			t.Inputs[f.input].State().Restore(rec.mark(f.name))
			if g, ok := t.Inputs[f.input].(task.Gathering); ok {
				g.RestoreMarks(rec.upstream(f.name))
			}
			t.Inputs[f.input].Restart(f.end)
		}
		if s.config.Guarantee == AtMostOnce {
			f.commit = s.commitFirst(r.sub, f.name, partition)
		}
		r.feeds = append(r.feeds, f)
	}
	for _, x := range r.sub.In {
		if s.config.local(x) {
			continue
		}
		f := &feed{r: r, input: x.Input, name: x.Name, limit: feedBytes, wake: make(chan struct{}, 1)}
		f.open = func(ctx context.Context, from connector.Position) (task.Reader, error) {
			return x.Open(ctx, s.base.env, s.plan.exchangeTopic(x), partition, from)
		}
		restart(f)
		t.Inputs[x.Input].State().Unheard = true
	}
	for _, src := range r.sub.Sources {
		if partition >= s.wide[src] { // a topic with fewer partitions than its sibling
			t.Inputs[src.Input].State().Finished = true
			continue
		}
		f := &feed{r: r, input: src.Input, name: src.Name, limit: feedBytes, wake: make(chan struct{}, 1)}
		env := s.base.env
		env.Headers = src.Headers
		f.open = func(ctx context.Context, from connector.Position) (task.Reader, error) {
			return src.Open(ctx, env, partition, from)
		}
		restart(f)
		t.Inputs[src.Input].State().Unheard = src.Positions != nil
	}
	if rec != nil {
		for _, x := range r.sub.In {
			t.Inputs[x.Input].State().Restore(rec.mark(x.Name))
		}
		t.RestoreNodes(rec.nodes)
	}
	return nil
}

// exchangeTopicOf names the topics of a sub-topology's exchanges; "" for local ones.
func (s *session) exchangeTopicOf(sub *Sub) func(string) string {
	return func(exchange string) string {
		x := find(append(slices.Clone(sub.Out), sub.In...), exchange)
		if s.config.local(x) {
			return ""
		}
		return s.plan.exchangeTopic(x)
	}
}

// feedBytes is how much of one input may be fetched and not processed.
const feedBytes = 4 << 20

func (s *session) stateful() int {
	n := 0
	for _, sub := range s.plan.Subs {
		if sub.Stateful() {
			n += s.counts[sub]
		}
	}
	return n
}

func (sub *Sub) out(exchange string) *Exchange { return find(sub.Out, exchange) }
func (sub *Sub) in(exchange string) *Exchange  { return find(sub.In, exchange) }

func find(xs []*Exchange, name string) *Exchange {
	for _, x := range xs {
		if x.Name == name {
			return x
		}
	}
	panic("engine: no exchange " + name)
}

// deliver carries a batch over a local exchange.
func (s *session) deliver(from *runner, exchange string, p int, b task.Batch) {
	x := from.sub.out(exchange)
	to := s.tasks[x.To][p]
	to.queued.Add(int64(b.Bytes()))
	to.send(message{kind: aBatch, input: x.Input, batch: b})
}

// pendingAt is how many bytes wait at the fullest receiver of an exchange.
func (s *session) pendingAt(x *Exchange) (n int64) {
	for _, to := range s.tasks[x.To] {
		n = max(n, to.queued.Load())
	}
	return n
}

// wake schedules a runner.
func (s *session) wake(r *runner) {
	if s.workers != nil {
		s.workers.wake(r)
	}
}

func (s *session) post(e event) { s.events.put(e) }

// now is the wall clock in ms: the cluster's, virtual in tests.
func (s *session) now() int64 {
	if s.base.log != nil {
		return s.base.log.Now().UnixMilli()
	}
	return s.config.now().UnixMilli()
}

// pause and resume note what is being waited for.
func (s *session) pause(what string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.paused[what] == nil {
		s.app.log.Warn("waiting", "for", what, "error", err)
	}
	s.mu.paused[what] = err
}

func (s *session) resume(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.paused, what)
}

func (s *session) counter(name string, labels ...string) func(int64) {
	return s.app.counters.get(s.config, name, labels)
}

// turnPatience is how long a session that ends waits for the present turns of its tasks.
const turnPatience = 10 * time.Second

// close ends everything the session owns. It may be called on one half made.
func (s *session) close() error {
	s.cancel()
	var errs []error
	if s.workers != nil && !s.workers.stop(turnPatience) {
		return errors.New("a user function does not return: its goroutine is left behind, and the process should end")
	}
	s.wg.Wait()
	for _, r := range s.runners {
		errs = append(errs, r.close())
	}
	for _, f := range s.followers {
		if f.reader != nil {
			errs = append(errs, f.reader.Close())
		}
	}
	if s.commits != nil {
		errs = append(errs, s.commits.close(s.clean))
	}
	return errors.Join(errs...)
}

// status collects what the runners show.
func (s *session) status() Status {
	now := s.now()
	s.mu.Lock()
	st := Status{Checkpoint: s.mu.committed, Guarantee: s.commits.guarantee(), Warnings: s.app.warnings.all(), Changelogs: s.changelogNames()}
	names := make([]string, 0, len(s.mu.paused))
	for what := range s.mu.paused {
		names = append(names, what)
	}
	sort.Strings(names)
	for _, what := range names {
		st.Paused = errors.Join(st.Paused, fmt.Errorf("%s: %w", what, s.mu.paused[what]))
	}
	st.Paused = errors.Join(st.Paused, s.heldUpLocked(now))
	runners := slices.Clone(s.runners)
	s.mu.Unlock()
	for _, r := range runners {
		r.status.Lock()
		st.Tasks = append(st.Tasks, r.status.TaskStatus)
		r.status.Unlock()
	}
	st.Standbys = s.standbys.status()
	return st
}

// tick is how often the loop looks at the clock for tasks that wait for it.
const tick = 10 * time.Millisecond
