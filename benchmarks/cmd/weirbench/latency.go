package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// latency measures from the time at which a record was meant to be sent to its sight by a read_committed consumer, under an
// open load: so many records per second, or a share of the greatest rate at which the system keeps up. The first seconds are for
// the just-in-time compilers and are left out.
func latency(ctx context.Context, args []string) error {
	l, f, err := newLive("latency", "weir", "kstreams", "flink")
	if err != nil {
		return err
	}
	loads := f.String("load", "10000,50%,80%", "records per second, or shares of each system's greatest rate, which is then looked for; separated by commas")
	if err := l.open(ctx, f, args, map[string]string{"for": "3s", "settle": "4s", "load": "2000"}); err != nil {
		return err
	}
	defer l.close()
	var groups []report.Group
	all := strings.Split(*loads, ",")
	for _, load := range all {
		groups = append(groups, l.newGroup(fmt.Sprintf("pass-through exactly-once, interval %v, %s", l.commit, loadName(load)), "ms at p99"))
	}
	failed := l.each(ctx, func(ctx context.Context, i int, s system, app string) error {
		return l.latency(ctx, s, app, all, func(load int, run report.Run) { groups[load].Rows[i].Runs = append(groups[load].Rows[i].Runs, run) })
	})
	fail(groups, failed)
	return l.finish(l.suite(groups, fmt.Sprintf("%v of each load, after %v of %d records/s; Apache Kafka 4.4.0, the sender and the reader are on the same machine", l.length, l.settle, l.rate),
		"a system's greatest rate is the last of 20,000 records/s and half as much again at a time at which it was less than a second behind"),
		"Latency from intended sending to read_committed receipt")
}

func loadName(load string) string {
	if share, ok := strings.CutSuffix(load, "%"); ok {
		return share + " % of the system's greatest rate"
	}
	return load + " records/s"
}

// latency runs one process of a system under every load and hands over what each gave.
func (l *live) latency(ctx context.Context, s system, app string, loads []string, found func(load int, run report.Run)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := l.topics(ctx, app, 4); err != nil {
		return err
	}
	p, err := l.start(ctx, job{suite: "pass", guarantee: "eos", emit: "update"}, s, app, "a")
	if err != nil {
		return err
	}
	defer p.Stop()
	o := &open{l: l, latencies: newHistogram(), log: filepath.Join(l.bench.logs, app+"-a.log")}
	following, stop := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer stop()
	reader.Go(func() { _ = l.broker.Follow(following, app+"-out", o.take) })
	if err := o.send(ctx, l.rate, l.settle); err != nil {
		return errors.Join(err, p.Alive())
	}
	greatest := 0
	for i, load := range loads {
		share, ok := strings.CutSuffix(load, "%")
		rate, err := strconv.Atoi(share)
		if err != nil {
			return err
		}
		if ok {
			if greatest == 0 {
				if greatest, err = o.greatest(ctx); err != nil {
					return err
				}
			}
			rate = greatest * rate / 100
		}
		o.reset()
		if err := o.stalls(report.Run{More: map[string]float64{}}); err != nil {
			return err
		}
		if err := o.send(ctx, rate, l.length); err != nil {
			return errors.Join(err, p.Alive())
		}
		run := percentiles(o.reset())
		if err := o.stalls(run); err != nil {
			return err
		}
		run.PerSecond = float64(rate)
		fmt.Fprintf(os.Stderr, "latency, %s at %d records/s: %.1f ms at p99, %v\n", s.name, rate, run.Cost, run.More)
		found(i, run)
	}
	return nil
}

// An open load on one running system, and what came out of it.
type open struct {
	l    *live
	next int64 // number of the next record

	log  string // the system's
	read int64  // as far as its stalls have been taken

	mu        sync.Mutex
	seen      int64
	latencies *hdrhistogram.Histogram
}

// newHistogram has three digits from a microsecond to ten minutes.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 3)
}

func (o *open) take(a broker.Arrival) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen++
	_ = o.latencies.RecordValue(min(max(a.Latency.Microseconds(), 1), o.latencies.HighestTrackableValue()))
	return true
}

// reset starts a new histogram and returns the old one.
func (o *open) reset() *hdrhistogram.Histogram {
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.latencies
	o.latencies = newHistogram()
	return old
}

// stalls adds to a run how long checkpoints have kept tasks from their input since the last call, where the system says so.
func (o *open) stalls(run report.Run) error {
	ms, end, err := stalls(o.log, o.read)
	if o.read = end; err != nil || len(ms) == 0 {
		return err
	}
	run.More["stall p50 ms"], run.More["stall p99 ms"] = percentile(ms, 50), percentile(ms, 99)
	return nil
}

func (o *open) behind() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.next - o.seen
}

// send keeps a load up for some time and waits until all of it has come out.
func (o *open) send(ctx context.Context, perSecond int, length time.Duration) (err error) {
	o.next, err = o.l.broker.Pace(ctx, o.l.load, perSecond, o.next, o.next+int64(length.Seconds()*float64(perSecond)))
	if err != nil {
		return err
	}
	return o.drain(ctx)
}

func (o *open) drain(ctx context.Context) error {
	return until(ctx, func() error {
		if n := o.behind(); n > 0 {
			return fmt.Errorf("%d records did not come out within %v", n, limit)
		}
		return nil
	})
}

// greatest looks for the greatest rate at which the system keeps up: half as much again every three seconds, until a second's worth of
// records is on its way when the last has been sent.
func (o *open) greatest(ctx context.Context) (int, error) {
	const step, first, most = 3 * time.Second, 20_000, 1_000_000
	good := 0
	for rate := first; rate <= most; rate += rate / 2 {
		var err error
		o.next, err = o.l.broker.Pace(ctx, o.l.load, rate, o.next, o.next+int64(step.Seconds()*float64(rate)))
		if err != nil {
			return 0, err
		}
		late := o.behind()
		if err := o.drain(ctx); err != nil {
			return 0, err
		}
		if late > int64(rate) {
			break
		}
		good = rate
	}
	if good == 0 {
		return 0, fmt.Errorf("it does not keep up with %d records/s", first)
	}
	return good, nil
}

func percentiles(h *hdrhistogram.Histogram) report.Run {
	at := func(percent float64) float64 { return float64(h.ValueAtPercentile(percent)) / 1000 }
	return report.Run{Cost: at(99), More: map[string]float64{"p50 ms": at(50), "p99.9 ms": at(99.9), "max ms": at(100), "records": float64(h.TotalCount())}}
}
