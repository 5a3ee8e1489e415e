package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/proc"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// soak runs a count by key under an open load, kills it again and again as kill -9 does, and checks at the end that each
// record was counted exactly once: with every update emitted there must be one output per input. Memory and goroutines are
// sampled, so that a leak shows.
func soak(ctx context.Context, args []string) error {
	l, f, err := newLive("soak", "weir")
	if err != nil {
		return err
	}
	every := f.Duration("kill-every", 20*time.Second, "time between kills; 0 for none")
	if err := l.open(ctx, f, args, map[string]string{"for": "10s", "kill-every": "4s", "rate": "2000"}); err != nil {
		return err
	}
	defer l.close()
	l.rounds = 1
	group := l.measured(ctx, fmt.Sprintf("count by key exactly-once, %d records/s for %v, killed every %v", l.rate, l.length, *every), "MiB at the end",
		func(ctx context.Context, s system, app string) (report.Run, error) {
			return l.soak(ctx, s, app, *every)
		})
	return l.finish(l.suite([]report.Group{group}, "every record is checked to be counted once, with one result each"), "Soak")
}

func (l *live) soak(ctx context.Context, s system, app string, every time.Duration) (report.Run, error) {
	if err := l.topics(ctx, app, 4); err != nil {
		return report.Run{}, err
	}
	l.load.Records = int64(l.length.Seconds() * float64(l.rate))
	paced := make(chan error, 1)
	go func() {
		_, err := l.broker.Pace(ctx, l.load, l.rate, 0, l.load.Records)
		paced <- err
	}()
	p, kills, memory, err := l.killAgain(ctx, s, app, every, paced)
	if err != nil {
		return report.Run{}, err
	}
	defer p.Stop()
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := l.committed(waiting, p, app); err != nil {
		return report.Run{}, err
	}
	updates, err := l.broker.VerifyCounts(ctx, l.load, app+"-out", l.load.Key, s.decode, false)
	if err == nil && updates != l.load.Records {
		err = fmt.Errorf("%d results of %d records", updates, l.load.Records)
	}
	if err != nil {
		return report.Run{}, err
	}
	first, last := goroutines(filepath.Join(l.bench.logs, app+"-a.log"))
	end := memory[len(memory)-1]
	return report.Run{Cost: float64(end >> 20), PeakMemory: slices.Max(memory), More: map[string]float64{"kills": float64(kills),
		"records": float64(updates), "MiB in the middle": float64(memory[len(memory)/2] >> 20), "goroutines at first": first, "goroutines at last": last}}, nil
}

// killAgain keeps the system running until the load has been sent, and returns the process that runs then.
func (l *live) killAgain(ctx context.Context, s system, app string, every time.Duration, paced <-chan error) (p *proc.Process, kills int, memory []int64, err error) {
	job := job{suite: "count", guarantee: "eos", emit: "update"}
	if p, err = l.start(ctx, job, s, app, "a"); err != nil {
		return nil, 0, nil, err
	}
	sample := time.NewTicker(time.Second)
	defer sample.Stop()
	began := time.Now()
	for {
		select {
		case err := <-paced:
			if len(memory) == 0 {
				memory = []int64{0}
			}
			return p, kills, memory, err
		case <-sample.C:
			if err := p.Alive(); err != nil {
				return nil, kills, nil, err
			}
			if now, err := p.Memory(); err == nil {
				memory = append(memory, now)
			}
			if every == 0 || time.Since(began) < every {
				continue
			}
			began = time.Now()
			kills++
			p.Kill()
			if p, err = l.start(ctx, job, s, app, "a"); err != nil {
				return nil, kills, nil, err
			}
		}
	}
}

var goroutineLine = regexp.MustCompile(`(?m)^goroutines (\d+)$`)

// goroutines are the first and last counts in a log.
func goroutines(path string) (first, last float64) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0
	}
	all := goroutineLine.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0, 0
	}
	first, _ = strconv.ParseFloat(string(all[0][1]), 64)
	last, _ = strconv.ParseFloat(string(all[len(all)-1][1]), 64)
	return first, last
}
