package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/proc"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// rebalance measures the longest silence of each output partition while processes come and go under an open load: one joins,
// one leaves, one is killed. What moved has the long silences, what stayed the short ones.
func rebalance(ctx context.Context, args []string) error {
	l, root, err := openLive(ctx, "rebalance", args, nil, "weir", "kstreams")
	if err != nil {
		return err
	}
	defer l.close()
	s := &report.Suite{Name: "rebalance", When: time.Now().UTC(), Machine: report.ThisMachine().WithJava(),
		Notes: []string{fmt.Sprintf("pass-through exactly-once of 8 partitions, %d records/s, interval %v, session timeout 6 s; longest silence of any partition, with the median partition's beside it", l.rate, l.options.commit)}}
	phases := []string{"join", "leave", "kill"}
	silences := make(map[string][]report.Run)
	measured := l.rounds(ctx, "rebalance", "ms", func(ctx context.Context, sys system, app string) (report.Run, error) {
		all, err := l.rebalance(ctx, sys, app)
		for phase, run := range all {
			silences[sys.name+" "+phase] = append(silences[sys.name+" "+phase], run)
		}
		return all["kill"], err
	})
	for _, phase := range phases {
		group := report.Group{Name: phase, Unit: "ms without output"}
		for _, row := range measured.Rows {
			group.Rows = append(group.Rows, report.Row{System: row.System, Failed: row.Failed, Runs: silences[row.System+" "+phase]})
		}
		s.Groups = append(s.Groups, group)
	}
	return finish(s, root, "Longest silence of a partition when processes come and go")
}

// phase is how long each change is watched.
const phase = 15 * time.Second

func (l *live) rebalance(ctx context.Context, s system, app string) (map[string]report.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l.load = broker.Load{Topic: app + "-in", Partitions: 8, Keys: 100_000, Groups: 10_000}
	l.options.warm = 1
	for _, topic := range []string{l.load.Topic, app + "-out"} {
		if err := l.broker.CreateTopic(ctx, topic, l.load.Partitions); err != nil {
			return nil, err
		}
	}
	job := job{suite: "pass", guarantee: "eos", emit: "update"}
	running := make(map[string]*proc.Process)
	defer func() {
		for _, p := range running {
			p.Stop()
		}
	}()
	begin := func(instance string) (err error) {
		running[instance], err = l.start(ctx, job, s, app, instance)
		return err
	}
	for _, instance := range []string{"a", "b"} {
		if err := begin(instance); err != nil {
			return nil, err
		}
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	arrivals := make(chan broker.Arrival, 100_000)
	go func() {
		defer close(arrivals)
		_ = l.broker.Follow(watching, app+"-out", func(a broker.Arrival) bool {
			select {
			case arrivals <- a:
				return true
			case <-watching.Done():
				return false
			}
		})
	}()
	go func() { _, _ = l.broker.Pace(watching, l.load, l.rate, 0) }()
	watch(arrivals, l.load.Partitions, settle)
	all := make(map[string]report.Run)
	if err := begin("c"); err != nil {
		return nil, err
	}
	all["join"] = silence(watch(arrivals, l.load.Partitions, phase))
	running["a"].Stop()
	delete(running, "a")
	all["leave"] = silence(watch(arrivals, l.load.Partitions, phase))
	running["b"].Kill()
	delete(running, "b")
	all["kill"] = silence(watch(arrivals, l.load.Partitions, 2*phase))
	return all, nil
}

// watch returns each partition's longest silence during the given time.
func watch(arrivals <-chan broker.Arrival, partitions int, length time.Duration) []time.Duration {
	end := time.NewTimer(length)
	defer end.Stop()
	longest, last := make([]time.Duration, partitions), make([]time.Time, partitions)
	for p := range last {
		last[p] = time.Now()
	}
	for {
		select {
		case a, open := <-arrivals:
			if !open {
				return longest
			}
			longest[a.Partition] = max(longest[a.Partition], a.At.Sub(last[a.Partition]))
			last[a.Partition] = a.At
		case now := <-end.C:
			for p := range last {
				longest[p] = max(longest[p], now.Sub(last[p]))
			}
			return longest
		}
	}
}

func silence(longest []time.Duration) report.Run {
	slices.Sort(longest)
	ms := func(d time.Duration) float64 { return float64(d.Milliseconds()) }
	return report.Run{Cost: ms(longest[len(longest)-1]), More: map[string]float64{"median partition ms": ms(longest[len(longest)/2])}}
}
