package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/proc"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// A live measurement runs systems under a load that goes on while they are watched: latency, restore, rebalance, soak.
type live struct {
	*bench
	*invocation
	rate    int
	length  time.Duration
	settle  time.Duration
	commit  time.Duration
	systems []system
	wanted  string
}

// newLive declares the flags that these suites share.
func newLive(name string, defaults ...string) (*live, *flag.FlagSet, error) {
	c, f, err := newInvocation(name)
	if err != nil {
		return nil, nil, err
	}
	l := &live{bench: &bench{}, invocation: c}
	f.IntVar(&l.rate, "rate", 10_000, "records per second of the open load")
	f.DurationVar(&l.length, "for", 30*time.Second, "how long is measured")
	f.DurationVar(&l.settle, "settle", 15*time.Second, "how long a system runs under load before it is measured")
	f.DurationVar(&l.commit, "commit", 100*time.Millisecond, "checkpoint or commit interval")
	f.StringVar(&l.wanted, "systems", strings.Join(defaults, ","), "which, separated by commas")
	return l, f, nil
}

// open reads the flags, builds the systems and starts a broker. Close what it opened.
func (l *live) open(ctx context.Context, f *flag.FlagSet, args []string, small map[string]string) (err error) {
	if err := l.parse(f, args, small); err != nil {
		return err
	}
	if l.temp, err = os.MkdirTemp("", "weirbench"); err != nil {
		return err
	}
	if l.bench.logs = l.invocation.logs; l.bench.logs == "" {
		l.bench.logs = l.temp
	}
	wanted := strings.Split(l.wanted, ",")
	built, err := build(ctx, l.root, l.temp, func(name string) bool {
		return slices.ContainsFunc(wanted, func(s string) bool { return peerOf(s) == name })
	})
	if err == nil {
		for _, name := range wanted {
			s, ok := built[name]
			if !ok {
				err = errors.Join(err, fmt.Errorf("no system %q", name))
			}
			l.systems = append(l.systems, s)
		}
	}
	if err == nil {
		l.broker, err = broker.Start(l.root, "")
	}
	if err != nil {
		os.RemoveAll(l.temp)
	}
	return err
}

func (l *live) close() {
	l.broker.Close()
	os.RemoveAll(l.temp)
}

// each measures every system in turn. one adds its figures itself, under the number of the system; what fails ends that system.
func (l *live) each(ctx context.Context, one func(ctx context.Context, i int, s system, app string) error) (failed []string) {
	failed = make([]string, len(l.systems))
	for round := range l.rounds {
		for i, s := range l.systems {
			if failed[i] != "" || ctx.Err() != nil {
				continue
			}
			app := fmt.Sprintf("live-%s-%d-%d-%d", s.name, round, os.Getpid(), time.Now().UnixMilli()%100_000)
			err := one(ctx, i, s, app)
			l.clean(app)
			if err != nil && ctx.Err() == nil {
				failed[i] = err.Error()
				fmt.Fprintf(os.Stderr, "%s, %s: %v\n", l.name, s.name, err)
			}
		}
	}
	return failed
}

// newGroup is a group with a row for each system.
func (l *live) newGroup(name, unit string) report.Group {
	group := report.Group{Name: name, Unit: unit}
	for _, s := range l.systems {
		group.Rows = append(group.Rows, report.Row{System: s.name})
	}
	return group
}

// fail takes the figures of systems that failed out of groups.
func fail(groups []report.Group, failed []string) {
	for _, g := range groups {
		for i, why := range failed {
			if why != "" {
				g.Rows[i].Failed, g.Rows[i].Runs = why, nil
			}
		}
	}
}

// rounds measures every system in turn for one figure.
func (l *live) measured(ctx context.Context, name, unit string, one func(ctx context.Context, s system, app string) (report.Run, error)) report.Group {
	group := l.newGroup(name, unit)
	failed := l.each(ctx, func(ctx context.Context, i int, s system, app string) error {
		run, err := one(ctx, s, app)
		if err == nil {
			group.Rows[i].Runs = append(group.Rows[i].Runs, run)
			fmt.Fprintf(os.Stderr, "%s, %s: %.1f %s %v\n", name, s.name, run.Cost, unit, run.More)
		}
		return err
	})
	fail([]report.Group{group}, failed)
	return group
}

// suite is a suite with these groups.
func (l *live) suite(groups []report.Group, notes ...string) *report.Suite {
	return &report.Suite{When: time.Now().UTC(), Machine: report.ThisMachine().WithJava(), Groups: groups, Notes: notes}
}

// topics makes the input and the output of an app, so many partitions each.
func (l *live) topics(ctx context.Context, app string, partitions int) error {
	l.load = broker.Load{Topic: app + "-in", Partitions: partitions, Keys: 100_000, Groups: 10_000}
	l.options.warm = 1
	return errors.Join(l.broker.CreateTopic(ctx, l.load.Topic, partitions), l.broker.CreateTopic(ctx, app+"-out", partitions))
}

// start runs one process of a system. Processes of one app differ in their instance, and so in their folder.
func (l *live) start(ctx context.Context, j job, s system, app, instance string) (*proc.Process, error) {
	j.commit = l.commit
	command := l.command(j, s, app, app+"-out")
	command = append(command, "dir="+filepath.Join(l.temp, app, instance), "instance="+instance, "session=6000")
	return proc.Start(ctx, filepath.Join(l.bench.logs, app+"-"+instance+".log"), command)
}
