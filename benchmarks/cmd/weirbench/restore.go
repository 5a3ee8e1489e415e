package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/proc"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// restore measures how fast state comes back from its changelog: a count by key of which the folder is lost, against the same
// restart with the folder kept. What the two have in common (starting, joining the group) cancels out.
func restore(ctx context.Context, args []string) error {
	l, f, err := newLive("restore", "weir", "kstreams")
	if err != nil {
		return err
	}
	keys := f.Int64("keys", 1_000_000, "keys to restore")
	if err := l.open(ctx, f, args, map[string]string{"keys": "20000"}); err != nil {
		return err
	}
	defer l.close()
	l.load = broker.Load{Topic: fmt.Sprintf("live-in-%d", os.Getpid()), Partitions: 4, Records: *keys, Keys: *keys, Groups: 10_000, Even: true}
	l.options.warm = l.load.Records
	if err := l.broker.Load(ctx, l.load); err != nil {
		return err
	}
	group := l.measured(ctx, fmt.Sprintf("restore of %d keys", *keys), "ns of CPU per key", l.restore)
	return l.finish(l.suite([]report.Group{group},
		"from the start of the process to the next result of a key, state lost, less the same with state kept; reading from Kafka included; 4 partitions"), "Restoring state")
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
	kept, err := l.restart(ctx, s, app, 1)
	if err != nil {
		return report.Run{}, err
	}
	again, err := l.restart(ctx, s, app, 2)
	if err != nil {
		return report.Run{}, err
	}
	if again.cpu < kept.cpu { // a database that is opened may have something to put in order
		kept = again
	}
	if err := os.RemoveAll(filepath.Join(l.temp, app)); err != nil {
		return report.Run{}, err
	}
	lost, err := l.restart(ctx, s, app, 3)
	if err != nil {
		return report.Run{}, err
	}
	n := float64(l.load.Keys)
	cpu, took := (lost.cpu - kept.cpu).Seconds(), (lost.took - kept.took).Seconds()
	changelog, err := l.broker.Changelog(ctx, app)
	return report.Run{Cost: cpu / n * 1e9, PerSecond: n / max(took, 0.001), PeakMemory: lost.peak,
		More: map[string]float64{"restart s, state kept": kept.took.Seconds(), "restart s, state lost": lost.took.Seconds(),
			"CPU s, state kept": kept.cpu.Seconds(), "CPU s, state lost": lost.cpu.Seconds(),
			"changelog records": float64(changelog), "changelog records per CPU second": float64(changelog) / max(cpu, 0.001)}}, err
}

// counting is the job whose state is restored.
func counting() job { return job{suite: "count", guarantee: "eos", emit: "commit"} }

// fill runs the count over the whole input once.
func (l *live) fill(ctx context.Context, s system, app string) error {
	p, err := l.start(ctx, counting(), s, app, "a")
	if err != nil {
		return err
	}
	defer p.Stop()
	if err := l.committed(ctx, p, app); err != nil {
		return err
	}
	return calm(ctx, p)
}

// calm waits until a process does next to nothing any more: compactions that are left over would be counted to its restart.
func calm(ctx context.Context, p *proc.Process) error {
	const look, idle = time.Second, 150 * time.Millisecond
	was, err := p.CPU()
	for err == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(look):
		}
		var used time.Duration
		if used, err = p.CPU(); err == nil && used-was < idle {
			return nil
		}
		was = used
	}
	return err
}

// A restarted process, from its start to its first result.
type restarted struct {
	took, cpu time.Duration
	peak      int64
}

// restart sends a record, starts the system and measures to its answer, in which that record's key has been counted once more
// than the last time: what was kept or restored is right. The key must have been counted so often before; other apps share the
// input and send the record too, so it may be more.
func (l *live) restart(ctx context.Context, s system, app string, counted int64) (r restarted, err error) {
	key := l.load.Key(0)
	answered, err := l.broker.LastCount(ctx, app+"-out", key, s.decode)
	if err != nil {
		return r, err
	}
	if answered < counted {
		return r, fmt.Errorf("key %s was counted %d times, want %d or more", key, answered, counted)
	}
	if err := l.broker.Send(ctx, l.load, 0); err != nil {
		return r, err
	}
	began := time.Now()
	p, err := l.start(ctx, counting(), s, app, "a")
	if err != nil {
		return r, err
	}
	defer p.Stop()
	if err := l.broker.AwaitKey(ctx, app+"-out", key, s.decode, answered+1); err != nil {
		return r, errors.Join(err, p.Alive())
	}
	r.took = time.Since(began)
	if r.cpu, err = p.CPU(); err != nil {
		return r, err
	}
	r.peak, err = p.PeakMemory()
	return r, err
}
