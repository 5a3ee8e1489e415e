package crashtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/faults"
)

// A regroup is what happens to the group of two, of which i0 goes on.
type regroup struct {
	name   string
	before int                // processes that are there before it
	do     func(w *world)     // the change, and what follows from it at once
	done   func(*moment) bool // the group has seen it
}

// regroups are a member that joins, one that leaves as it should, and one that is given up.
func regroups() []regroup {
	gone := func(m *moment) bool { return m.world.procs[1].d == nil }
	follow := func(w *world) {
		for range 2 {
			w.others(w.procs[0])
		}
	}
	return []regroup{
		{"joins", 1, func(w *world) {
			w.procs = append(w.procs, &process{w: w, name: "i1", disk: &disk{rand: w.rand}})
			follow(w)
		}, func(m *moment) bool { return m.joined }},
		{"leaves", 2, func(w *world) {
			if err := w.procs[1].stop(); err != nil {
				w.why = append(w.why, err)
			}
			w.procs[1].down = 100
		}, gone},
		{"dies", 2, func(w *world) {
			_ = w.procs[1].conn.Close()
			w.procs[1].recover(faults.ErrKilled)
			w.procs[1].down = 100
			w.advance(session + time.Second)
		}, gone},
	}
}

// A moment is a judge that has something done just before a request of i0's arrives.
type moment struct {
	world *world
	at    faults.Kind // ignored with every
	nth   int         // of that kind, from when it was armed; 0: not armed
	every bool
	lose  bool // the answer of the request before it was lost
	do    func(*world)

	seen     int
	joined   bool // i1 has asked to
	fired    bool
	happened bool
	then     []faults.Kind // what i0 has asked for since
}

func (m *moment) Witness(r faults.Request) {
	if r.Client != "i0" || m.nth == 0 || m.fired && len(m.then) > 0 || !m.every && r.Kind != m.at {
		return
	}
	if m.seen++; m.seen == m.nth {
		m.fired = true
		m.do(m.world)
	}
}

func (m *moment) Judge(r faults.Request) (f faults.Fate) {
	switch {
	case r.Client == "i1" && r.Kind == faults.JoinGroup:
		m.joined = true
	case r.Client != "i0" || m.nth == 0:
	case m.fired:
		m.then = append(m.then, r.Kind)
	case m.lose && r.Kind == m.at && m.seen == m.nth-1:
		f.Lose = true
	}
	return f
}

// during is a run in which the group changes at a moment of the third checkpoint with records.
func during(s scenario, c regroup, m *moment) (*world, error) {
	s.members = c.before
	w, err := newWorld(s, 0, nil)
	if err != nil {
		return nil, err
	}
	m.world, m.do = w, c.do
	for range 2 {
		if err := w.send(); err != nil {
			return nil, err
		}
		for range 4 { // and two processes have come to share the tasks
			w.advance(2 * time.Second)
			for _, p := range w.procs {
				p.step()
			}
		}
	}
	if len(w.why) > 0 {
		return nil, fmt.Errorf("before anything happened: %w", errors.Join(w.why...))
	}
	nth := m.nth
	m.nth = 0
	w.judge(m)
	if err := w.send(); err != nil {
		return nil, err
	}
	m.nth = nth
	w.procs[0].step()
	m.nth = 0
	m.happened = c.done(m)
	if len(w.procs) > 1 {
		w.procs[1].down = 0
	}
	return w, w.run()
}

// TestRebalanceInEveryPhaseOfACheckpoint has a member join, leave and die while another one is at each phase of a checkpoint.
func TestRebalanceInEveryPhaseOfACheckpoint(t *testing.T) {
	for _, phase := range []struct {
		name string
		at   faults.Kind
		nth  int
		lose bool
		next faults.Kind // what the process asks for first when the group has changed
	}{
		{"before the barrier", faults.Fetch, 1, false, faults.Fetch},
		{"between barrier and flush, nothing written", faults.AddPartitions, 1, false, faults.AddPartitions},
		{"between barrier and flush, partly written", faults.Produce, 2, false, faults.Produce},
		{"between flush and commit", faults.TxnOffsets, 1, false, faults.TxnOffsets},
		{"positions sent, commit not", faults.EndTxn, 1, false, faults.EndTxn},
		{"commit sent and unanswered", faults.EndTxn, 2, true, faults.EndTxn},
		{"committed, not applied", faults.Write, 1, false, faults.Write},
	} {
		for _, c := range regroups() {
			for _, s := range []scenario{
				{name: "count", build: count, check: sums, disk: true},
				{name: "repartition", build: repartition, check: sums, config: overKafka, disk: true},
				{name: "standby", build: repartition, check: sums, config: standby, disk: true},
			} {
				t.Run(phase.name+"/"+c.name+"/"+s.name, func(t *testing.T) {
					m := &moment{at: phase.at, nth: phase.nth, lose: phase.lose}
					_, err := during(s, c, m)
					if err != nil {
						t.Fatal(err)
					}
					if !m.fired || len(m.then) == 0 || m.then[0] != phase.next {
						t.Errorf("the group changed: %v, and then came %v", m.fired, m.then)
					}
					if !m.happened {
						t.Errorf("it did not happen that one %s", c.name)
					}
				})
			}
		}
	}
}

// TestRevocationOutlivesItsSession has a session fail when it was told to give a task up and had not: the other member gets the task without
// waiting for the rebalance timeout.
func TestRevocationOutlivesItsSession(t *testing.T) {
	w, err := newWorld(scenario{name: "revoked", build: count, check: sums, config: overKafka, members: 2}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	has, joins := w.procs[0], w.procs[1]
	for w.sent < records/2 {
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		w.steps(t, 1)
	}
	joins.step()
	has.work() // it hears of it, and no checkpoint follows
	if n := len(has.running()); n != partitions {
		t.Fatalf("it has given up %d of %d tasks already", partitions-n, partitions)
	}
	has.recover(errors.New("broken by the test"))
	for range 4 {
		has.step()
		joins.step()
	}
	if a, b := has.running(), joins.running(); len(a)+len(b) != partitions || len(b) == 0 {
		t.Errorf("they run %v and %v", a, b)
	}
	if err := w.run(); err != nil {
		t.Error(err)
	}
}

// TestRebalanceAtEveryRequest is the same at each request of a checkpoint, in a run of its own.
func TestRebalanceAtEveryRequest(t *testing.T) {
	s := scenario{name: "repartition", build: repartition, check: sums, config: overKafka, disk: true}
	for _, c := range regroups() {
		t.Run(c.name, func(t *testing.T) {
			runs := 0
			for nth := 1; ; nth++ {
				m := &moment{nth: nth, every: true}
				if _, err := during(s, c, m); err != nil {
					t.Fatalf("request %d: %v", nth, err)
				}
				if !m.fired {
					break
				}
				runs++
			}
			t.Logf("%d runs", runs)
			if runs < 20 {
				t.Errorf("a checkpoint has %d requests", runs)
			}
		})
	}
}
