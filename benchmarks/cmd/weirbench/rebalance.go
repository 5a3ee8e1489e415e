package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/proc"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// rebalance measures the longest silence of each output partition while processes come and go under an open load: nothing happens, one
// joins, one leaves, one is killed, each watched for the same time. Partitions that got another owner and those that kept theirs are told
// apart by the group's description. Output that is committed every so often is silent in between and longer when the machine is busy: what a
// change costs the partitions that stayed is what they are silent beyond the time in which nothing happens.
func rebalance(ctx context.Context, args []string) error {
	l, f, err := newLive("rebalance", "weir", "kstreams")
	if err != nil {
		return err
	}
	counts := f.String("partitions", "8,64", "of input and output, separated by commas")
	phase := f.Duration("phase", 20*time.Second, "how long each change is watched, and a time without one before; longer than the session timeout and a restore")
	standbys := f.Int("standbys", -1, "keep each key's last value, with so many copies of the state; less than 0: pass through, without state")
	small := map[string]string{"settle": "8s", "phase": "14s", "rate": "2000", "partitions": "8"}
	if err := l.open(ctx, f, args, small); err != nil {
		return err
	}
	defer l.close()
	var all []int
	for count := range strings.SplitSeq(*counts, ",") { // before anything is measured
		partitions, err := strconv.Atoi(count)
		if err != nil || partitions < 1 {
			return fmt.Errorf("-partitions %q: %q is no number of partitions", *counts, count)
		}
		all = append(all, partitions)
	}
	what, doing := job{suite: "pass", guarantee: "eos", emit: "update"}, "pass-through"
	if *standbys >= 0 {
		what.suite, what.standbys = "keep", *standbys
		doing = fmt.Sprintf("the last value of each key, %d standbys,", *standbys)
	}
	var groups []report.Group
	for _, partitions := range all {
		groups = append(groups, l.rebalances(ctx, what, partitions, *phase)...)
	}
	return l.finish(l.suite(groups, fmt.Sprintf("%s exactly-once, %d records/s, interval %v, session timeout 6 s for all; two processes, nothing happens, a third joins, one leaves, one is killed, each watched for %v",
		doing, l.rate, l.commit, *phase), "every record is checked to come out, once"), "Longest silence of a partition when processes come and go")
}

// rebalances has the figures of one number of partitions.
func (l *live) rebalances(ctx context.Context, what job, partitions int, phase time.Duration) (groups []report.Group) {
	for _, name := range changeNames {
		for _, kind := range kinds(name) {
			groups = append(groups, l.newGroup(fmt.Sprintf("%s, %d partitions%s", name, partitions, kind), "ms without output, longest"))
		}
	}
	failed := l.each(ctx, func(ctx context.Context, i int, s system, app string) error {
		changes, err := l.rebalance(ctx, what, s, app, partitions, phase)
		note(groups, i, changes)
		for n, c := range changes {
			fmt.Fprintf(os.Stderr, "rebalance, %s, %s: %v, moved %v\n", s.name, changeNames[n], c.silent, c.moved)
		}
		return err
	})
	fail(groups, failed)
	return groups
}

// changeNames are what the group goes through, in order. First nothing happens: what the others are measured by.
var changeNames = []string{"steady", "join", "leave", "kill"}

// kinds are the partitions that a change tells apart: each is the end of a group's name.
func kinds(change string) []string {
	if change == changeNames[0] {
		return []string{""}
	}
	return []string{", those that moved", ", those that stayed"}
}

// note puts what a system's changes did into its rows of the groups, which are in the order of changes and kinds. A kind of which there was
// no partition gets no figure.
func note(groups []report.Group, system int, changes []change) {
	at := 0
	for n, c := range changes {
		runs := []report.Run{silence(c.silent, c.moved, true), silence(c.silent, c.moved, false)}
		if len(kinds(changeNames[n])) == 1 {
			runs = []report.Run{silence(c.silent, make([]bool, len(c.silent)), false)}
		}
		for _, run := range runs {
			if row := &groups[at].Rows[system]; run.More["partitions"] > 0 {
				row.Runs = append(row.Runs, run)
			}
			at++
		}
	}
}

// A change of the group: how long each partition was silent, and whether it has another owner since.
type change struct {
	silent []time.Duration
	moved  []bool
}

// rebalance returns what changeNames did.
func (l *live) rebalance(ctx context.Context, what job, s system, app string, partitions int, phase time.Duration) (changes []change, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := l.topics(ctx, app, partitions); err != nil {
		return nil, err
	}
	running := make(map[string]*proc.Process)
	defer func() {
		for _, p := range running {
			p.Stop()
		}
	}()
	begin := func(instance string) (err error) {
		running[instance], err = l.start(ctx, what, s, app, instance)
		return err
	}
	for _, instance := range []string{"a", "b"} {
		if err := begin(instance); err != nil {
			return nil, err
		}
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	w := follow(watching, l, app)
	if err := w.everywhere(ctx); err != nil {
		return nil, err
	}
	before, err := l.watch(ctx, w, app, l.settle, nil)
	if err != nil {
		return nil, err
	}
	for _, do := range []func() error{
		nil,
		func() error { return begin("c") },
		func() error { running["a"].Stop(); delete(running, "a"); return nil },
		func() error { running["b"].Kill(); delete(running, "b"); return nil },
	} {
		after, err := l.watch(ctx, w, app, phase, do)
		if err != nil {
			return nil, err
		}
		moved := make([]bool, partitions)
		for p := range moved {
			moved[p] = before.owners[int32(p)] != after.owners[int32(p)]
		}
		changes, before = append(changes, change{after.silent, moved}), after
	}
	return changes, w.complete(ctx)
}

// A watched stretch of time.
type watched struct {
	silent []time.Duration
	owners map[int32]string // at its end
}

// watch does something, or nothing, and watches the output for a while.
func (l *live) watch(ctx context.Context, w *follower, app string, length time.Duration, do func() error) (watched, error) {
	w.start(l.load.Partitions)
	if do != nil {
		if err := do(); err != nil {
			return watched{}, err
		}
	}
	select {
	case <-ctx.Done():
		return watched{}, ctx.Err()
	case <-time.After(length):
	}
	silent := w.longest()
	owners, err := l.broker.Owners(ctx, app, l.load.Topic)
	return watched{silent, owners}, err
}

// silence is the longest silence among the partitions that moved, or did not.
func silence(silent []time.Duration, moved []bool, want bool) report.Run {
	longest, n := time.Duration(0), 0
	for p, d := range silent {
		if moved[p] == want {
			longest = max(longest, d)
			n++
		}
	}
	return report.Run{Cost: float64(longest.Milliseconds()), More: map[string]float64{"partitions": float64(n)}}
}

// follow sends the open load and reads what comes out, until watching ends.
func follow(watching context.Context, l *live, app string) *follower {
	w := &follower{seen: make(map[int64]int)}
	w.start(l.load.Partitions)
	w.sending, w.stop = context.WithCancel(watching)
	w.sent = make(chan int64, 1)
	go func() {
		n, _ := l.broker.Pace(w.sending, l.load, l.rate, 0, 0)
		w.sent <- n
	}()
	go func() { _ = l.broker.Follow(watching, app+"-out", w.take) }()
	return w
}
