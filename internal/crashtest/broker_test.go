package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/faults/oracle"
	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/stream"
)

// A brokerRun is a scenario on the embedded broker: real apps with their goroutines and connections, behind a layer that asks the judge.
// What the memory cluster is for logic, this is for the way to Kafka. Time is the clock's, so a seed says what is drawn, not how it falls.
type brokerRun struct {
	w     *world // of it the scenario and what its topologies use
	b     *kafkatest.Broker
	layer *kafkatest.Layer
	seats []*life
	wg    sync.WaitGroup // of all lives, also of those that were killed and have not ended yet

	mu  sync.Mutex
	why []error
}

// A life is one process after the other under the same name.
type life struct {
	r    *brokerRun
	name string
	disk *disk
	stop chan chan error // asks for a clean end
}

// brokerPatience bounds a run. It is no expectation: one that takes as long makes no progress.
const brokerPatience = 90 * time.Second

// runOnBroker is run, on the embedded broker.
func runOnBroker(t *testing.T, s scenario, seed uint64, j faults.Judge) error {
	kafkatest.NeedFake(t) // before any broker is started
	w := &world{s: s, sink: memory.Collect[string, int64]("outside")}
	r := &brokerRun{w: w, layer: kafkatest.NewLayer("weir-", j)}
	r.b = kafkatest.Start(t, kafkatest.Nodes(3), kafkatest.Behind(r.layer))
	r.b.CreateTopic("in", partitions, nil)
	r.b.CreateTopic("out", partitions, nil)
	ctx, cancel := context.WithTimeout(context.Background(), brokerPatience)
	defer r.wg.Wait()
	defer cancel()
	killed := map[string]chan struct{}{}
	var mu sync.Mutex // of killed
	r.wg.Go(func() {
		for {
			select {
			case id := <-r.layer.Kills():
				mu.Lock()
				close(killed[id])
				mu.Unlock()
			case <-ctx.Done():
				return
			}
		}
	})
	deathOf := func(client string) <-chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		killed[client] = make(chan struct{})
		return killed[client]
	}
	for i := range max(1, s.members) {
		l := &life{r: r, name: fmt.Sprint("i", i), stop: make(chan chan error), disk: &disk{rand: rand.New(rand.NewPCG(seed, uint64(i)))}}
		r.seats = append(r.seats, l)
		r.wg.Go(func() { l.run(ctx, deathOf) })
	}
	return r.judged(ctx)
}

// judged sends the input, waits until everything is done, has what was late come, and asks the oracle.
func (r *brokerRun) judged(ctx context.Context) error {
	if err := r.drive(ctx, r.sending()); err != nil {
		return err
	}
	r.layer.Quiet()
	for left := slices.Clone(r.seats); len(left) > 0; { // who has ended listens no more
		if err := r.drive(ctx, func() bool { return true }); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(l *life) bool { return l.end(ctx) })
		if ctx.Err() != nil && len(left) > 0 {
			return r.late(fmt.Errorf("%d of %d processes did not stop", len(left), len(r.seats)))
		}
	}
	if err := r.layer.Err(); err != nil {
		return err
	}
	for len(r.b.OpenTransactions("app-")) > 0 { // what a late request has begun ends with the transaction timeout
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("transactions are open: %v", r.b.OpenTransactions("app-"))
		}
	}
	return r.findings()
}

// sending puts in a chunk when the one before has been read, or is not for a while, and reports whether all is in.
func (r *brokerRun) sending() func() bool {
	sent, asked := 0, 0
	return func() bool {
		if asked++; asked%10 != 0 && r.behind() {
			return false
		}
		for range min(chunk, records-sent) {
			at := eventTime.Add(time.Duration(sent) * time.Second)
			r.b.ProduceTo("in", int32(sent%keys%partitions), &kafkatest.Record{Timestamp: at, Key: []byte(key(sent)), Value: []byte(value(sent))})
			sent++
		}
		return sent == records
	}
}

// drive waits until all is sent and committed, and the output is as it should be.
func (r *brokerRun) drive(ctx context.Context, sent func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !sent() || r.behind() || r.findings() != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return r.late(r.findings())
		}
	}
	return nil
}

// late is the error of a run that makes no progress.
func (r *brokerRun) late(what error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Errorf("no end within %v: %w\n%s\nthe last reasons: %w", brokerPatience, errors.Join(r.layer.Err(), what), r.b.DumpGroup("app"), errors.Join(r.why[max(0, len(r.why)-5):]...))
}

// behind reports whether records were put in that are not committed as read. That all of what they cause has come out is the oracle's word.
func (r *brokerRun) behind() bool {
	committed := r.b.GroupOffsets("app")["in"]
	for p, end := range r.b.EndOffsets("in") {
		if end > committed[p].Offset {
			return true
		}
	}
	return false
}

// findings are the oracle's, of what anybody's client reads.
func (r *brokerRun) findings() error { return r.w.s.check(recordsOf(r.b.ReadCommitted("out")), r.w) }

// recordsOf are records as oracles take them.
func recordsOf(read []*kafkatest.Record) oracle.Records {
	out := oracle.Records{}
	for _, r := range read {
		out[r.Partition] = append(out[r.Partition], wire.Record{Offset: r.Offset, Key: r.Key, Value: r.Value})
	}
	return out
}

func (r *brokerRun) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why = append(r.why, err)
}

// end asks for a clean end and reports whether it came.
func (l *life) end(ctx context.Context) bool {
	ended := make(chan error, 1)
	select {
	case l.stop <- ended:
	case <-ctx.Done():
		return false
	}
	select {
	case err := <-ended:
		if err != nil {
			l.r.failed(fmt.Errorf("%s stops: %w", l.name, err))
		}
		return err == nil
	case <-ctx.Done():
		return false
	}
}

// run has process after process until ctx ends: the next one begins when one was killed or has failed, and after a clean end when the
// test goes on.
func (l *life) run(ctx context.Context, deathOf func(string) <-chan struct{}) {
	for n := 0; ctx.Err() == nil; n++ {
		client := fmt.Sprintf("weir-%s-%d", l.name, n)
		app, err := l.build(client)
		if err != nil {
			l.r.failed(err)
			return
		}
		death := deathOf(client)
		running, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		l.r.wg.Go(func() { done <- app.Run(running) })
		select {
		case err := <-done:
			l.r.failed(fmt.Errorf("%s ends: %w", client, err))
			l.disk = l.disk.heir(false)
		case <-death:
			l.disk = l.disk.heir(true)
		case ended := <-l.stop:
			err := app.Stop(ctx, stream.Handover)
			ended <- err
			if err == nil {
				cancel()
				return
			}
			l.disk = l.disk.heir(false)
		case <-ctx.Done():
		}
		cancel()
	}
}

// build is what a new process does first.
func (l *life) build(client string) (*stream.App, error) {
	b := stream.New("app")
	l.r.w.s.build(b, l.r.w)
	quiet := slog.New(slog.DiscardHandler)
	config := stream.Config{
		Cluster:  &kafka.Cluster{Brokers: l.r.b.Brokers(), ClientID: client, Logger: quiet},
		Exchange: stream.Local, Instance: l.name, State: state.InMemory(), CheckpointInterval: 20 * time.Millisecond, WatermarkInterval: 20 * time.Millisecond,
		MaxTaskPause: 3 * time.Second, TransactionTimeout: 15 * time.Second, SessionTimeout: 3 * time.Second, StopTimeout: 2 * time.Second, Workers: 2, Logger: quiet,
	}
	if l.r.w.s.disk {
		config.State = l.disk
	}
	if l.r.w.s.config != nil {
		l.r.w.s.config(&config)
	}
	return b.Build(config)
}

// brokerScenarios are those in which the way to Kafka differs.
func brokerScenarios() (some []scenario) {
	for _, s := range scenarios() {
		switch s.name {
		case "pass", "count-disk", "repartition-kafka-disk", "windows-kafka", "two-count", "two-sift", "three-repartition", "outside", "at-least-once":
			some = append(some, s)
		}
	}
	return some
}

// brokerPlan is what a seed stands for there: requests are more, for much of what an app asks it asks again and again. Who is cut off is so
// by the clock: for longer than a session, and not until patience ends. As a number of requests that is a few seconds' at most, too.
func brokerPlan(s scenario, seed uint64) faults.Plan {
	p := plan(s, seed)
	p.Last, p.PassAtMost, p.Within = 1500, 7*time.Second, min(p.Within, 40)
	return p
}

func TestUndisturbedOnBroker(t *testing.T) {
	for _, s := range brokerScenarios() {
		t.Run(s.name, func(t *testing.T) {
			began := time.Now()
			j := faults.NewRandom(faults.Plan{Odds: map[faults.Kind]faults.Odds{}})
			if err := runOnBroker(t, s, 0, j); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d requests, %v", j.Requests(), time.Since(began))
		})
	}
}

// Scripts of seeds that failed there once.
func TestBrokerScripts(t *testing.T) {
	for _, s := range brokerScenarios() {
		for _, file := range scriptsOf(t, "broker."+s.name) {
			t.Run(s.name+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				t.Parallel()
				if err := runOnBroker(t, s, seedOf(file), readScript(t, file).Judge()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestBrokerSeeds(t *testing.T) {
	for _, s := range brokerScenarios() {
		for seed := *first; seed < *first+uint64(*brokerSeeds); seed++ {
			t.Run(fmt.Sprint(s.name, "/", seed), func(t *testing.T) {
				t.Parallel()
				j := faults.NewRandom(brokerPlan(s, seed))
				if err := runOnBroker(t, s, seed, j); err != nil {
					if *keep { // one run may pass by luck, so each script has two; and what hangs for long does no other thing
						script := faults.Shrink(j.Script(), func(shorter faults.Script) (fails bool) {
							for range 2 {
								fails = fails || runOnBroker(t, s, seed, shorter.Judge()) != nil
							}
							return fails
						})
						kept(t, "broker."+s.name, seed, script, err)
					}
					t.Fatalf("%v\nagain: go test ./internal/crashtest -run 'TestBrokerSeeds/%s/%d$' -seed %d -brokerseeds 1\n%s", err, s.name, seed, seed, j)
				}
				t.Logf("%d requests, %d faults", j.Requests(), len(j.Script()))
			})
		}
	}
}
