package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// restore measures how fast state comes back from its changelog: a count by key of which the folder is lost, against the same
// restart with the folder kept. What the two have in common (starting, joining the group) cancels out.
func restore(ctx context.Context, args []string) error {
	var keys int64
	l, root, err := openLive(ctx, "restore", args, func(f *flag.FlagSet, _ *live) {
		f.Int64Var(&keys, "keys", 1_000_000, "keys to restore")
	}, "weir", "kstreams")
	if err != nil {
		return err
	}
	defer l.close()
	l.load = broker.Load{Topic: fmt.Sprintf("live-in-%d", os.Getpid()), Partitions: 4, Records: 2 * keys, Keys: keys, Groups: 10_000}
	l.options.warm = l.load.Records
	if err := l.broker.Load(ctx, l.load); err != nil {
		return err
	}
	group := l.rounds(ctx, fmt.Sprintf("restore of %d keys", keys), "ns of CPU per key", l.restore)
	s := &report.Suite{Name: "restore", When: time.Now().UTC(), Machine: report.ThisMachine().WithJava(), Groups: []report.Group{group},
		Notes: []string{"from the start of the process to the next result of a key, state lost, less the same with state kept"}}
	return finish(s, root, "Restoring state")
}

func (l *live) restore(ctx context.Context, s system, app string) (report.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := l.broker.CreateTopic(ctx, app+"-out", l.load.Partitions); err != nil {
		return report.Run{}, err
	}
	if err := l.fill(ctx, s, app); err != nil {
		return report.Run{}, err
	}
	keptCPU, kept, err := l.restart(ctx, s, app)
	if err != nil {
		return report.Run{}, err
	}
	if err := os.RemoveAll(filepath.Join(l.temp, app)); err != nil {
		return report.Run{}, err
	}
	lostCPU, lost, err := l.restart(ctx, s, app)
	if err != nil {
		return report.Run{}, err
	}
	n := float64(l.load.Keys)
	return report.Run{Cost: float64((lostCPU - keptCPU).Nanoseconds()) / n, PerSecond: n / max((lost-kept).Seconds(), 0.001),
		More: map[string]float64{"restart s, state kept": kept.Seconds(), "restart s, state lost": lost.Seconds()}}, nil
}

// counting is the job whose state is restored.
func counting() job { return job{suite: "count", guarantee: "eos", emit: "update"} }

// fill runs the count over the whole input once.
func (l *live) fill(ctx context.Context, s system, app string) error {
	p, err := l.start(ctx, counting(), s, app, "a")
	if err != nil {
		return err
	}
	defer p.Stop()
	return l.committed(ctx, p, app)
}

// restart starts the system and measures to its answer to one more record.
func (l *live) restart(ctx context.Context, s system, app string) (cpu, took time.Duration, err error) {
	key := l.load.Key(0)
	var before int64
	for n := range l.load.Records {
		if l.load.Key(n) == key {
			before++
		}
	}
	// Each restart of each system sends the record once more, so what is awaited is more than what this app has answered.
	answered, err := l.broker.LastCount(ctx, app+"-out", key, s.decode)
	if err != nil {
		return 0, 0, err
	}
	if answered < before {
		return 0, 0, fmt.Errorf("key %s was counted %d times of %d", key, answered, before)
	}
	if err := l.broker.Send(ctx, l.load, 0); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	p, err := l.start(ctx, counting(), s, app, "a")
	if err != nil {
		return 0, 0, err
	}
	defer p.Stop()
	if err := l.broker.AwaitKey(ctx, app+"-out", key, s.decode, answered+1); err != nil {
		return 0, 0, errors.Join(err, p.Alive())
	}
	took = time.Since(began)
	cpu, err = p.CPU()
	return cpu, took, err
}
