package crashtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/stream"
)

// A scenario is a topology from topic in to topic out, who runs it, and what must be in out.
type scenario struct {
	name    string
	build   func(b *stream.Builder, w *world)
	check   func(out oracle.Records, w *world) error
	config  func(c *stream.Config) // nil: the defaults
	disk    bool                   // state outlives a process that is killed, as far as a disk keeps it
	members int                    // processes; 0 is one
	far     bool                   // topic out is on a second cluster
	late    int                    // of a thousand plain commits so many come late; 0 is the usual
	in      map[string]string      // settings of the topic in; then its records are of the time they are written at

	// For topologies that a seed draws. Zero is what the constants below say.
	partitions int      // of topics
	input      []given  // what is sent; nil is records of the topic in
	outputs    []string // further topics to write to
	chunk      int      // how much of the input comes between two checkpoints
	lazy       int      // of so many chances for a checkpoint one is taken
	settling   int      // checkpoints until what the last record caused has come out
}

// A given is a record of the input.
type given struct {
	at  wire.TopicPartition
	rec wire.Record
}

const (
	partitions = 3
	records    = 90 // of the input, which comes in chunks
	chunk      = 15
	keys       = 7
)

// The input's times are those of old data: retention and compaction of everything that the app makes itself must not care.
var eventTime = time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC)

// key is the key of record i.
func key(i int) string { return fmt.Sprint("k", i%keys) }

// value is that of record i, which no other one has.
func value(i int) string { return fmt.Sprint("v", i) }

func values() (all []string) {
	for i := range records {
		all = append(all, value(i))
	}
	return all
}

// counted is how often each key is put in.
func counted() map[string]int64 {
	n := map[string]int64{}
	for i := range records {
		n[key(i)]++
	}
	return n
}

// A world is one run: a cluster and the processes on it.
type world struct {
	s     scenario
	c     *memory.Cluster
	far   *memory.Cluster                  // where out is: c, or a second one
	rand  *rand.Rand                       // what the processes go through
	sink  *memory.Collector[string, int64] // outside of the cluster
	procs []*process
	input []given
	sent  int
	why   []error // of recoveries
	fatal []error // … which an app would not have begun

	between   int64 // records that tasks processed while a barrier was on its way to others
	held      int   // writes that waited for a disk
	meanwhile int   // steps of other processes, all without error, while one did
}

// patience is how many recoveries a process may need: more often than its faults can explain is no progress.
const patience = 80

// run is a scenario under a judge, from the first record to the oracle's word. Where there are several processes, the seed says when they
// freeze, stop and come back.
func run(s scenario, seed uint64, j faults.Judge) error {
	w, err := newWorld(s, seed, j)
	if err != nil {
		return err
	}
	return w.run()
}

func (w *world) run() error {
	if err := w.drive(true); err != nil {
		return err
	}
	w.judge(nil)
	w.far.Settle()
	w.c.Settle() // what was late comes at the latest now: the app may have to recover once more
	for stopped := false; !stopped; {
		if err := w.drive(false); err != nil {
			return err
		}
		stopped = w.stop()
	}
	return w.judged()
}

// newWorld makes the cluster, its topics, and processes that are down.
func newWorld(s scenario, seed uint64, j faults.Judge) (*world, error) {
	w := &world{s: s, c: &memory.Cluster{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Poison: true}}
	w.rand = rand.New(rand.NewPCG(seed, 2))
	w.sink = memory.Collect[string, int64]("outside")
	for i := range max(1, s.members) {
		w.procs = append(w.procs, &process{w: w, name: fmt.Sprint("i", i), disk: &disk{rand: w.rand}})
	}
	w.far = w.c
	if s.far {
		w.far = &memory.Cluster{Start: w.c.Start, Poison: true}
	}
	forever := map[string]string{"retention.ms": "-1"}
	in := forever
	if s.in != nil {
		in = s.in
	}
	if w.input = s.input; w.input == nil {
		w.input = w.usual()
	}
	for _, topic := range w.topicsIn() {
		if err := w.c.Create(topic, cmp.Or(s.partitions, partitions), in); err != nil {
			return nil, err
		}
	}
	for _, topic := range append([]string{"out"}, s.outputs...) {
		if err := w.far.Create(topic, cmp.Or(s.partitions, partitions), forever); err != nil {
			return nil, err
		}
	}
	w.judge(j)
	return w, nil
}

// judge has faults happen on both clusters.
func (w *world) judge(j faults.Judge) { w.c.Judge, w.far.Judge = j, j }

// advance lets time pass, which is the same everywhere.
func (w *world) advance(by time.Duration) {
	w.c.Advance(by)
	if w.far != w.c {
		w.far.Advance(by)
	}
}

// drive has the app work until everything is committed. disturbed: its processes freeze and stop now and then.
func (w *world) drive(disturbed bool) error {
	for !w.done() {
		if err := w.send(); err != nil {
			return err
		}
		w.advance(2 * time.Second) // watermarks cross repartition topics with time
		for _, p := range w.procs {
			if disturbed && len(w.procs) > 1 {
				p.disturb()
			} else {
				p.wake()
			}
			switch {
			case w.s.lazy > 0 && w.rand.IntN(w.s.lazy) > 0:
				p.work()
			case disturbed && w.rand.IntN(2) == 0:
				p.ragged()
			default:
				p.step()
			}
		}
		if n := len(w.why); n > patience*len(w.procs) {
			return fmt.Errorf("no progress; the last reasons: %w", errors.Join(w.why[n-5:]...))
		}
	}
	return nil
}

// usual is the input of most scenarios.
func (w *world) usual() (all []given) {
	for i := range records {
		at := eventTime.Add(time.Duration(i) * time.Second)
		r := wire.Record{Time: at.UnixMilli(), Key: []byte(key(i)), Value: []byte(value(i))}
		all = append(all, given{wire.TopicPartition{Topic: "in", Partition: int32(i % keys % partitions)}, r})
	}
	return all
}

// send puts a chunk of records in.
func (w *world) send() error { return w.put(cmp.Or(w.s.chunk, chunk)) }

// put puts n records in, or what is left.
func (w *world) put(n int) error {
	for range min(n, len(w.input)-w.sent) {
		g := w.input[w.sent]
		if w.s.in != nil {
			g.rec.Time = w.c.Now().UnixMilli()
		}
		if _, err := w.c.Append(g.at.Topic, g.at.Partition, g.rec); err != nil {
			return err
		}
		w.sent++
	}
	return nil
}

// settling is how many checkpoints it takes until what the last record caused has come out: one hop each, and some to spare.
const settling = 6

// done reports whether everything was sent and committed, by what the group says.
func (w *world) done() bool {
	if w.sent < len(w.input) || w.behind() {
		return false
	}
	for range cmp.Or(w.s.settling, settling) {
		w.advance(2 * time.Second)
		for _, p := range w.procs {
			if !p.step() {
				return false
			}
		}
	}
	return !w.behind()
}

// behind reports whether a topic that the app reads has records that are not committed as read.
func (w *world) behind() bool {
	committed, input := w.c.Committed("app"), w.topicsIn()
	for topic, n := range w.c.Topics() {
		if !slices.Contains(input, topic) && !strings.HasSuffix(topic, "-repartition") {
			continue
		}
		for p := range int32(n) {
			at := committed[wire.TopicPartition{Topic: topic, Partition: p}].Offset
			if left, _, err := w.c.Records(topic, p, at); err != nil || len(left) > 0 {
				return true
			}
		}
	}
	for _, p := range w.procs {
		if p.d == nil {
			continue
		}
		for _, t := range p.d.Status().Tasks {
			if t.Outbox > 0 {
				return true
			}
		}
	}
	return false
}

// topicsIn are those of the input.
func (w *world) topicsIn() (names []string) {
	for _, g := range w.input {
		if !slices.Contains(names, g.at.Topic) {
			names = append(names, g.at.Topic)
		}
	}
	return names
}

// stop ends all processes as they should end, and reports whether they did.
func (w *world) stop() bool {
	for _, p := range w.procs {
		if p.d == nil {
			continue
		}
		if err := p.stop(); err != nil {
			w.why = append(w.why, fmt.Errorf("%s stops: %w", p.name, err))
			return false
		}
	}
	return true
}

// judged asks the oracle.
func (w *world) judged() error {
	if len(w.fatal) > 0 {
		return fmt.Errorf("a process would have ended: %w", errors.Join(w.fatal...))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l, err := w.c.Connect(ctx, "oracle")
	if err != nil {
		return err
	}
	defer l.Close()
	far, err := w.far.Connect(ctx, "oracle")
	if err != nil {
		return err
	}
	defer far.Close()
	if err := errors.Join(oracle.NothingOpen(ctx, l, "app-"), oracle.NothingOpen(ctx, far, "app-")); err != nil {
		return err // and everything else would wait for it
	}
	out, err := oracle.Read(ctx, far, "out")
	if err != nil {
		return err
	}
	return errors.Join(w.s.check(out, w), oracle.NoLag(ctx, l, "app", w.topicsIn()...))
}
