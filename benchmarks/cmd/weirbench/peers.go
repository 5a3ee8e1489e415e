package main

import (
	"context"
	"flag"
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
	suite       string // pass, count or repartition
	guarantee   string // eos or alo; goka has alo only
	emit        string // commit (one output per key and checkpoint) or update (each)
	systems     []string
}

// jobs are the comparisons of DESIGN section 13, in the order they run.
var jobs = []job{
	{name: "pass", title: "pass-through, exactly-once (goka: at-least-once)", suite: "pass", guarantee: "eos", emit: "update",
		systems: []string{"weir", "kstreams", "flink", "goka"}},
	{name: "pass-alo", title: "pass-through, at-least-once", suite: "pass", guarantee: "alo", emit: "update",
		systems: []string{"weir", "kstreams", "flink", "goka"}},
	{name: "count", title: "count by key, exactly-once, one output per key and checkpoint", suite: "count", guarantee: "eos", emit: "commit",
		systems: []string{"weir", "kstreams"}},
	{name: "count-every", title: "count by key, exactly-once (goka: at-least-once), every update emitted", suite: "count", guarantee: "eos",
		emit: "update", systems: []string{"weir", "kstreams", "flink", "flink-rocksdb", "goka"}},
	{name: "repartition", title: "group by another key and count, exactly-once (goka: at-least-once); weir by a topic, weir-local in process", suite: "repartition",
		guarantee: "eos", emit: "commit", systems: []string{"weir", "weir-local", "kstreams", "flink", "goka"}},
}

type options struct {
	rounds        int
	records, warm int64
	commit        time.Duration
	pin, profile  bool
	jobs, systems string
	keep          string
}

func peers(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 3, "how often each system runs each job, in turn")
	flags.Int64Var(&o.records, "records", 3_000_000, "records that are measured")
	flags.Int64Var(&o.warm, "warm", 2_000_000, "records before those, for just-in-time compilers and caches")
	flags.DurationVar(&o.commit, "commit", time.Second, "checkpoint or commit interval")
	flags.BoolVar(&o.pin, "pin", false, "broker on CPU 0, system on CPU 1")
	flags.BoolVar(&o.profile, "profile", false, "weir writes a CPU profile of each measurement beside its log")
	flags.StringVar(&o.jobs, "jobs", "", "only these, separated by commas")
	flags.StringVar(&o.systems, "systems", "", "only these, separated by commas")
	flags.StringVar(&o.keep, "logs", "", "folder for the systems' logs. Default: a temporary one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := checkout()
	if err != nil {
		return err
	}
	chosen := choose(o)
	temp, err := os.MkdirTemp("", "weirbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if o.keep == "" {
		o.keep = temp
	}
	systems, err := build(ctx, root, temp, func(name string) bool {
		return slices.ContainsFunc(chosen, func(j job) bool {
			return slices.ContainsFunc(j.systems, func(s string) bool { return peerOf(s) == name })
		})
	})
	if err != nil {
		return err
	}
	suite, err := measure(ctx, root, temp, chosen, systems, o)
	if err != nil {
		return err
	}
	return finish(suite, root, "weir and its peers: CPU per input record of the whole process")
}

// choose leaves the jobs and systems that the flags name.
func choose(o options) []job {
	var chosen []job
	for _, j := range jobs {
		if o.jobs != "" && !slices.Contains(strings.Split(o.jobs, ","), j.name) {
			continue
		}
		if o.systems != "" {
			wanted := strings.Split(o.systems, ",")
			j.systems = slices.DeleteFunc(slices.Clone(j.systems), func(s string) bool { return !slices.Contains(wanted, s) })
		}
		if len(j.systems) > 0 {
			chosen = append(chosen, j)
		}
	}
	return chosen
}

// measure runs every job: A B C, A B C, … on one broker and one input.
func measure(ctx context.Context, root, temp string, jobs []job, systems map[string]system, o options) (*report.Suite, error) {
	pin := ""
	if o.pin {
		pin = "0"
	}
	b, err := broker.Start(root, pin)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	load := broker.Load{Topic: fmt.Sprintf("bench-in-%d", os.Getpid()), Partitions: 4, Records: o.warm + o.records, Keys: 100_000, Groups: 10_000}
	fmt.Fprintf(os.Stderr, "loading %d records of %d bytes into 4 partitions\n", load.Records, broker.ValueBytes)
	if err := b.Load(ctx, load); err != nil {
		return nil, err
	}
	suite := &report.Suite{Name: "peers", When: time.Now().UTC(),
		Machine: report.ThisMachine().WithJava(), Notes: notes(o)}
	bench := bench{broker: b, load: load, temp: temp, options: o}
	for _, j := range jobs {
		group := report.Group{Name: j.title, Unit: "ns of CPU per record"}
		for _, name := range j.systems {
			group.Rows = append(group.Rows, report.Row{System: name})
		}
		for round := range o.rounds {
			for i := range group.Rows {
				row := &group.Rows[i]
				if row.Failed != "" {
					continue
				}
				run, err := bench.run(ctx, j, systems[row.System], round)
				if ctx.Err() != nil {
					return nil, ctx.Err()
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
		suite.Groups = append(suite.Groups, group)
	}
	return suite, nil
}

func notes(o options) []string {
	where := "not pinned: broker and system share the cores"
	if o.pin {
		where = "broker on CPU 0, system on CPU 1"
	}
	return []string{
		fmt.Sprintf("%d records of 100 bytes after %d for warming up; 4 partitions, 100,000 keys, 10,000 groups; Apache Kafka 4.4.0 on the same machine", o.records, o.warm),
		fmt.Sprintf("commit or checkpoint interval %v; %s; results checked before time counts", o.commit, where),
		"Kafka Streams 4.4.0: one stream thread, cache 64 MiB (0 where every update is emitted), linger 20 ms, batches of 128 KiB, -Xmx4g",
		"Flink 2.3.0: one JVM, parallelism 1, object reuse, connector 5.0.0-2.2, linger 20 ms, batches of 128 KiB, -Xmx4g",
		"goka 1.1.14: at-least-once, its defaults",
	}
}
