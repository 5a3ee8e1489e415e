package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/broker"
	"github.com/weirstream/weir/benchmarks/internal/report"
)

// A job is one piece of work that several systems do on the same input.
type job struct {
	name, title string
	suite       string // pass, keep, count, repartition or nexmark
	query       string // of nexmark
	guarantee   string // eos or alo; goka has alo only
	standbys    int    // copies of state
	emit        string // commit (one output per key and checkpoint) or update (each)
	systems     []string
	commit      time.Duration                                                    // checkpoint or commit interval
	memory      int64                                                            // bytes for state: weir's MemoryBytes, Flink's managed memory; 0 for each system's own default
	check       func(ctx context.Context, out string) (outputs int64, err error) // of nexmark; others are checked by their suite
}

// jobs are the comparisons of DESIGN section 13, in the order they run.
var jobs = []job{
	{name: "pass", title: "pass-through, exactly-once", suite: "pass", guarantee: "eos", emit: "update",
		systems: []string{"weir", "kstreams", "flink", "goka"}},
	{name: "count", title: "count by key, exactly-once, one output per key and checkpoint", suite: "count", guarantee: "eos", emit: "commit",
		systems: []string{"weir", "kstreams"}},
	{name: "count-every", title: "count by key, exactly-once, every update emitted", suite: "count", guarantee: "eos",
		emit: "update", systems: []string{"weir", "kstreams", "flink", "flink-rocksdb"}},
	{name: "repartition", title: "group by another key and count, exactly-once; weir by a topic, weir-local in process", suite: "repartition",
		guarantee: "eos", emit: "commit", systems: []string{"weir", "weir-local", "kstreams", "flink"}},
	{name: "pass-alo", title: "pass-through, at-least-once", suite: "pass", guarantee: "alo", emit: "update",
		systems: []string{"weir", "kstreams", "flink", "goka"}},
	{name: "count-alo", title: "count by key, at-least-once, every update emitted", suite: "count", guarantee: "alo", emit: "update",
		systems: []string{"weir", "kstreams", "flink", "goka"}},
}

type options struct {
	records, warm int64
	keys          int64
	commit        []time.Duration
	pin, profile  bool
	big           bool
	jobs, systems string
}

// bytesPerKey is what a key with its count takes while it is in weir's memory: 10 M keys took 1.3 GB.
const bytesPerKey = 128

func peers(ctx context.Context, args []string) error {
	c, f, err := newInvocation("peers")
	if err != nil {
		return err
	}
	var o options
	f.Int64Var(&o.records, "records", 3_000_000, "records that are measured")
	f.Int64Var(&o.warm, "warm", 2_000_000, "records before those, for just-in-time compilers and caches")
	f.Int64Var(&o.keys, "keys", 0, "distinct keys. Default 100,000, with -big 10,000,000")
	f.Var(&durations{&o.commit}, "commit", "checkpoint or commit interval; several separated by commas. Default 1s")
	f.BoolVar(&o.pin, "pin", false, "broker on CPU 0, system on CPU 1")
	f.BoolVar(&o.big, "big", false, "count more keys than fit: each key once to fill the state, which has a quarter of the memory it needs; weir and Flink on RocksDB")
	f.BoolVar(&o.profile, "profile", false, "weir writes a CPU profile of each measurement beside its log")
	f.StringVar(&o.jobs, "jobs", "", "only these, separated by commas")
	f.StringVar(&o.systems, "systems", "", "only these, separated by commas")
	if err := c.parse(f, args, map[string]string{"records": "50000", "warm": "50000", "keys": "10000"}); err != nil {
		return err
	}
	chosen := choose(&o)
	temp, err := os.MkdirTemp("", "weirbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if c.logs == "" {
		c.logs = temp
	}
	systems, err := build(ctx, c.root, temp, func(name string) bool {
		return slices.ContainsFunc(chosen, func(j job) bool {
			return slices.ContainsFunc(j.systems, func(s string) bool { return peerOf(s) == name })
		})
	})
	if err != nil {
		return err
	}
	suite, err := measure(ctx, c, temp, chosen, systems, o)
	if err != nil {
		return err
	}
	return c.finish(suite, "weir and its peers: CPU per input record of the whole process")
}

// durations is a flag with several intervals.
type durations struct{ all *[]time.Duration }

func (d *durations) String() string { return "" }

func (d *durations) Set(text string) error {
	*d.all = nil
	for one := range strings.SplitSeq(text, ",") {
		interval, err := time.ParseDuration(one)
		if err != nil {
			return err
		}
		*d.all = append(*d.all, interval)
	}
	return nil
}

// choose leaves the jobs and systems that the flags name, each for each interval, and sets what depends on other flags.
func choose(o *options) []job {
	from := jobs
	if o.keys == 0 {
		o.keys = 100_000
		if o.big {
			o.keys = 10_000_000
		}
	}
	if o.big {
		o.warm = o.keys
		from = []job{{name: "big", suite: "count", guarantee: "eos", emit: "update", systems: []string{"weir", "flink-rocksdb"}, memory: o.keys * bytesPerKey / 4,
			title: fmt.Sprintf("count of %d keys, exactly-once, every update emitted, in a quarter of the memory they need (%d MiB)", o.keys, o.keys*bytesPerKey/4>>20)}}
	}
	if len(o.commit) == 0 {
		o.commit = []time.Duration{time.Second}
	}
	var chosen []job
	for _, interval := range o.commit {
		for _, j := range from {
			if o.jobs != "" && !slices.Contains(strings.Split(o.jobs, ","), j.name) {
				continue
			}
			if o.systems != "" {
				wanted := strings.Split(o.systems, ",")
				j.systems = slices.DeleteFunc(slices.Clone(j.systems), func(s string) bool { return !slices.Contains(wanted, s) })
			}
			if j.commit = interval; len(o.commit) > 1 {
				j.name, j.title = fmt.Sprintf("%s-%v", j.name, interval), fmt.Sprintf("%s, interval %v", j.title, interval)
			}
			if len(j.systems) > 0 {
				chosen = append(chosen, j)
			}
		}
	}
	return chosen
}

// measure runs every job: A B C, A B C, … on one broker and one input. When ctx ends it keeps what there is.
func measure(ctx context.Context, c *invocation, temp string, jobs []job, systems map[string]system, o options) (*report.Suite, error) {
	pin := ""
	if o.pin {
		pin = "0"
	}
	b, err := broker.Start(c.root, pin)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	load := broker.Load{Topic: fmt.Sprintf("bench-in-%d", os.Getpid()), Partitions: 4, Records: o.warm + o.records, Keys: o.keys, Groups: 10_000, Even: o.big}
	fmt.Fprintf(os.Stderr, "loading %d records of %d bytes into 4 partitions\n", load.Records, broker.ValueBytes)
	if err := b.Load(ctx, load); err != nil {
		return nil, err
	}
	suite := &report.Suite{When: time.Now().UTC(), Machine: report.ThisMachine().WithJava(), Notes: notes(o, systems)}
	bench := bench{broker: b, load: load, temp: temp, logs: c.logs, options: o}
	for _, j := range jobs {
		suite.Groups = append(suite.Groups, bench.group(ctx, j, systems, c.rounds))
	}
	return suite, nil
}

// group runs one job. A system that failed once has no figure.
func (b *bench) group(ctx context.Context, j job, systems map[string]system, rounds int) report.Group {
	group := report.Group{Name: j.title, Unit: "ns of CPU per record"}
	for _, name := range j.systems {
		group.Rows = append(group.Rows, report.Row{System: name})
	}
	for round := range rounds {
		for i := range group.Rows {
			row := &group.Rows[i]
			if row.Failed != "" || ctx.Err() != nil {
				continue
			}
			run, err := b.run(ctx, j, systems[row.System], round)
			if ctx.Err() != nil {
				continue
			}
			if err != nil {
				row.Failed, row.Runs = err.Error(), nil
				fmt.Fprintf(os.Stderr, "%s, %s: %v\n", j.name, row.System, err)
				continue
			}
			row.Runs = append(row.Runs, run)
			fmt.Fprintf(os.Stderr, "%s, %s, round %d: %.0f ns of CPU per record, %.0f records/s, peak %d MiB; start and warm-up %.1f s of CPU\n",
				j.name, row.System, round+1, run.Cost, run.PerSecond, run.PeakMemory>>20, run.More["cpu_seconds_before"])
		}
	}
	return group
}

func notes(o options, systems map[string]system) []string {
	where := "not pinned: broker and system share the cores"
	if o.pin {
		where = "broker on CPU 0, system on CPU 1"
	}
	all := []string{
		fmt.Sprintf("%d records of 100 bytes after %d for warming up; 4 partitions, %d keys, 10,000 groups; Apache Kafka 4.4.0 on the same machine", o.records, o.warm, o.keys),
		fmt.Sprintf("commit or checkpoint interval %s; %s; results checked before time counts", strings.Trim(fmt.Sprint(o.commit), "[]"), where),
	}
	for _, peer := range settings {
		if _, there := systems[peer.system]; there {
			all = append(all, peer.text)
		}
	}
	return all
}

// settings says how the peers are set, in words.
var settings = []struct{ system, text string }{
	{"kstreams", "Kafka Streams 4.4.0: one stream thread, cache 64 MiB (0 where every update is emitted), linger 20 ms, batches of 128 KiB, -Xmx4g"},
	{"flink", "Flink 2.3.0: one JVM, parallelism 1, object reuse, connector 5.0.0-2.2, linger 20 ms, batches of 128 KiB, -Xmx4g (1g with -big); RocksDB with incremental checkpoints"},
	{"goka", "goka 1.1.14: its defaults; at-least-once in every table"},
}
