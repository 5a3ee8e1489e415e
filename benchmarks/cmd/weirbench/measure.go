package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/proc"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// A bench runs systems on one broker and one input.
type bench struct {
	broker  *broker.Broker
	load    broker.Load
	temp    string
	logs    string
	options options
}

// limit is how long one run may take altogether.
const limit = 15 * time.Minute

// run makes one measurement: from the moment that the system has taken in its warm-up to the commit of the last record. A
// system that repartitions is measured to its last result. What the start and the warm-up cost is kept beside it.
func (b *bench) run(ctx context.Context, j job, s system, round int) (report.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	app := fmt.Sprintf("bench-%s-%s-%d-%d", j.name, s.name, round, os.Getpid())
	out := app + "-out"
	if err := b.broker.CreateTopic(ctx, out, b.load.Partitions); err != nil {
		return report.Run{}, err
	}
	defer b.clean(app)
	p, err := proc.Start(ctx, filepath.Join(b.logs, app+".log"), b.command(j, s, app, out))
	if err != nil {
		return report.Run{}, err
	}
	defer p.Stop()
	if err := p.Warm(ctx); err != nil {
		return report.Run{}, err
	}
	began := time.Now()
	before, err := p.CPU()
	if err != nil {
		return report.Run{}, err
	}
	if err := b.committed(ctx, p, app); err != nil {
		return report.Run{}, err
	}
	took := time.Since(began)
	after, err := p.CPU()
	if err != nil {
		return report.Run{}, err
	}
	outputs, err := b.verify(ctx, j, s, out)
	if err != nil {
		return report.Run{}, err
	}
	if j.suite == "repartition" || j.suite == "nexmark" { // its second half goes on behind the input's last commit
		if after, err = p.CPU(); err != nil {
			return report.Run{}, err
		}
	}
	peak, err := p.PeakMemory()
	if err != nil {
		return report.Run{}, err
	}
	records := float64(b.options.records)
	return report.Run{Cost: float64((after - before).Nanoseconds()) / records, PerSecond: records / took.Seconds(), PeakMemory: peak,
		More: map[string]float64{"outputs": float64(outputs), "seconds": took.Seconds(), "cpu_seconds": (after - before).Seconds(),
			"cpu_seconds_before": before.Seconds()}}, nil
}

func (b *bench) command(j job, s system, app, out string) []string {
	var all []string
	if b.options.pin {
		all = append(all, "taskset", "-c", "1")
	}
	all = append(append(all, s.sized(j.memory)...), "suite="+j.suite, "brokers="+b.broker.Addresses, "in="+b.load.Topic, "out="+out, "app="+app,
		"dir="+filepath.Join(b.temp, app), "guarantee="+j.guarantee, fmt.Sprintf("commit=%d", j.commit.Milliseconds()),
		"emit="+j.emit, fmt.Sprintf("warm=%d", b.options.warm))
	if j.query != "" {
		all = append(all, "query="+j.query)
	}
	if j.memory > 0 {
		all = append(all, fmt.Sprintf("memory=%d", j.memory))
	}
	if j.standbys > 0 {
		all = append(all, fmt.Sprintf("standbys=%d", j.standbys))
	}
	if b.options.profile && peerOf(s.name) == "weir" {
		all = append(all, "profile="+filepath.Join(b.logs, app+".cpu.pprof"))
	}
	return append(all, s.extra...)
}

// committed waits until the system's group has committed the whole input.
func (b *bench) committed(ctx context.Context, p *proc.Process, group string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := b.broker.Committed(ctx, group, b.load.Topic)
		if err == nil && done >= b.load.Records {
			return nil
		}
		if err := p.Alive(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d records committed after %v", done, b.load.Records, limit)
		case <-tick.C:
		}
	}
}

// verify checks the results and returns how many outputs there were.
func (b *bench) verify(ctx context.Context, j job, s system, out string) (int64, error) {
	if j.check != nil {
		return j.check(ctx, out)
	}
	if j.suite == "pass" {
		extra, err := b.broker.VerifyCopies(ctx, b.load, out, s.loose || j.guarantee == "alo")
		return b.load.Records + extra, err
	}
	key := b.load.Key
	if j.suite == "repartition" {
		key = b.load.Group
	}
	return b.broker.VerifyCounts(ctx, b.load, out, key, s.decode, s.loose)
}

// clean removes what a run left behind, also when it failed.
func (b *bench) clean(app string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := b.broker.DeleteTopics(ctx, app); err != nil {
		fmt.Fprintf(os.Stderr, "removing topics of %s: %v\n", app, err)
	}
	os.RemoveAll(filepath.Join(b.temp, app))
}
