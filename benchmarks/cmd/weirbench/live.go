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
	rate    int
	length  time.Duration
	systems []system
}

// openLive reads the flags that these suites share, builds the systems and starts a broker. Close what it returns.
func openLive(ctx context.Context, name string, args []string, more func(*flag.FlagSet, *live), defaults ...string) (l *live, root string, err error) {
	l = &live{bench: &bench{}}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.IntVar(&l.rate, "rate", 10_000, "records per second of the open load")
	flags.DurationVar(&l.length, "for", 30*time.Second, "how long is measured")
	flags.DurationVar(&l.options.commit, "commit", 100*time.Millisecond, "checkpoint or commit interval")
	flags.IntVar(&l.options.rounds, "rounds", 3, "how often each system is measured, in turn")
	flags.StringVar(&l.options.systems, "systems", strings.Join(defaults, ","), "which, separated by commas")
	flags.StringVar(&l.options.keep, "logs", "", "folder for the systems' logs. Default: a temporary one")
	if more != nil {
		more(flags, l)
	}
	if err := flags.Parse(args); err != nil {
		return nil, "", err
	}
	if root, err = checkout(); err != nil {
		return nil, "", err
	}
	if l.temp, err = os.MkdirTemp("", "weirbench"); err != nil {
		return nil, "", err
	}
	if l.options.keep == "" {
		l.options.keep = l.temp
	}
	wanted := strings.Split(l.options.systems, ",")
	built, err := build(ctx, root, l.temp, func(name string) bool {
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
		l.broker, err = broker.Start(root, "")
	}
	if err != nil {
		os.RemoveAll(l.temp)
		return nil, "", err
	}
	return l, root, nil
}

func (l *live) close() {
	l.broker.Close()
	os.RemoveAll(l.temp)
}

// rounds measures every system in turn and collects rows.
func (l *live) rounds(ctx context.Context, name, unit string, one func(ctx context.Context, s system, app string) (report.Run, error)) report.Group {
	group := report.Group{Name: name, Unit: unit}
	for _, s := range l.systems {
		group.Rows = append(group.Rows, report.Row{System: s.name})
	}
	for round := range l.options.rounds {
		for i, s := range l.systems {
			row := &group.Rows[i]
			if row.Failed != "" || ctx.Err() != nil {
				continue
			}
			app := fmt.Sprintf("live-%s-%d-%d-%d", s.name, round, os.Getpid(), time.Now().UnixMilli()%100_000)
			run, err := one(ctx, s, app)
			l.clean(app)
			if err != nil {
				row.Failed, row.Runs = err.Error(), nil
				fmt.Fprintf(os.Stderr, "%s, %s: %v\n", name, s.name, err)
				continue
			}
			row.Runs = append(row.Runs, run)
			fmt.Fprintf(os.Stderr, "%s, %s, round %d: %.1f %s %v\n", name, s.name, round+1, run.Cost, unit, run.More)
		}
	}
	return group
}

// start runs one process of a system. Processes of one app differ in their instance, and so in their folder.
func (l *live) start(ctx context.Context, j job, s system, app, instance string) (*proc.Process, error) {
	command := l.command(j, s, app, app+"-out")
	command = append(command, "dir="+filepath.Join(l.temp, app, instance), "instance="+instance, "session=6000")
	return proc.Start(ctx, filepath.Join(l.options.keep, app+"-"+instance+".log"), command)
}
