package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// latency measures from the time at which a record was meant to be sent to its sight by a read_committed consumer, under an
// open load. The first seconds are for the just-in-time compilers and are left out.
func latency(ctx context.Context, args []string) error {
	l, root, err := openLive(ctx, "latency", args, nil, "weir", "kstreams", "flink")
	if err != nil {
		return err
	}
	defer l.close()
	name := fmt.Sprintf("pass-through exactly-once, %d records/s, interval %v", l.rate, l.options.commit)
	group := l.rounds(ctx, name, "ms at p99", l.latency)
	s := &report.Suite{Name: fmt.Sprintf("latency-%v", l.options.commit), When: time.Now().UTC(), Machine: report.ThisMachine().WithJava(), Groups: []report.Group{group},
		Notes: []string{fmt.Sprintf("%v measured after %v of the same load; Apache Kafka 4.4.0 on the same machine", l.length, settle)}}
	return finish(s, root, "Latency from intended sending to read_committed receipt")
}

// settle is how long a system runs under load before it is measured.
const settle = 15 * time.Second

func (l *live) latency(ctx context.Context, s system, app string) (report.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l.load = broker.Load{Topic: app + "-in", Partitions: 4, Keys: 100_000, Groups: 10_000}
	l.options.warm = 1
	for _, topic := range []string{l.load.Topic, app + "-out"} {
		if err := l.broker.CreateTopic(ctx, topic, l.load.Partitions); err != nil {
			return report.Run{}, err
		}
	}
	p, err := l.start(ctx, job{suite: "pass", guarantee: "eos", emit: "update"}, s, app, "a")
	if err != nil {
		return report.Run{}, err
	}
	defer p.Stop()
	first, last := int64(settle.Seconds()*float64(l.rate)), int64((settle+l.length).Seconds()*float64(l.rate))
	paced := make(chan error, 1)
	go func() {
		_, err := l.broker.Pace(ctx, l.load, l.rate, last)
		paced <- err
	}()
	all := make([]time.Duration, 0, last-first)
	err = l.broker.Follow(ctx, app+"-out", func(a broker.Arrival) bool {
		if a.N >= first {
			all = append(all, a.Latency)
		}
		return int64(len(all)) < last-first
	})
	if err == nil {
		err = <-paced
	}
	if err == nil && int64(len(all)) < last-first {
		err = fmt.Errorf("%d of %d records came out within %v", len(all), last-first, limit)
	}
	if err != nil {
		return report.Run{}, err
	}
	return percentiles(all), nil
}

// percentiles sorts every latency: half a million of them need no histogram.
func percentiles(all []time.Duration) report.Run {
	slices.Sort(all)
	at := func(share float64) float64 {
		return float64(all[min(int(share*float64(len(all))), len(all)-1)].Microseconds()) / 1000
	}
	return report.Run{Cost: at(0.99), More: map[string]float64{"p50 ms": at(0.5), "p99.9 ms": at(0.999), "max ms": at(1)}}
}
