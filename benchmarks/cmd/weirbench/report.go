package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirstream/weir/benchmarks/internal/report"
)

// order is how the suites follow each other on the page.
var order = strings.Fields("peers peers-alo peers-intervals peers-pinned peers-big nexmark nexmark-kafka latency restore restore-10m rebalance rebalance-state kafka micro micro-10m limits soak")

// bars are the goals of DESIGN section 13 that are ratios in one run.
func bars() []report.Bar {
	all := []report.Bar{
		{Goal: "pass-through exactly-once: 4× Kafka Streams", Suite: "peers", Group: "pass-through, exactly-once", Other: "kstreams", Times: 4},
		{Goal: "pass-through exactly-once: 6× Flink", Suite: "peers", Group: "pass-through, exactly-once", Other: "flink", Times: 6},
		{Goal: "pass-through exactly-once: 4× goka at-least-once", Suite: "peers", Group: "pass-through, exactly-once", Other: "goka", Times: 4},
		{Goal: "count exactly-once, one output per key and checkpoint: 6× Kafka Streams", Suite: "peers",
			Group: "count by key, exactly-once, one output per key and checkpoint", Other: "kstreams", Times: 6},
		{Goal: "count exactly-once, every update: 4× Flink on the heap", Suite: "peers", Group: "count by key, exactly-once, every update emitted", Other: "flink", Times: 4},
		{Goal: "count exactly-once, every update: 8× Flink on RocksDB", Suite: "peers", Group: "count by key, exactly-once, every update emitted", Other: "flink-rocksdb", Times: 8},
		{Goal: "count of 10 M keys in a quarter of the memory they need: 2× Flink on RocksDB", Suite: "peers-big", Group: "count of 10000000 keys", Other: "flink-rocksdb", Times: 2},
		{Goal: "exactly-once at 100 ms: at most 15 % more than at-least-once, which then costs 0.87 of it", Suite: "peers-intervals",
			Group: "pass-through, at-least-once, interval 100ms", Other: "weir", Base: "pass-through, exactly-once, interval 100ms", Times: 0.87},
		{Goal: "restore of 1 M keys: 2× Kafka Streams", Suite: "restore", Group: "restore of 1000000 keys", Other: "kstreams", Times: 2},
		{Goal: "restore of 1 M keys: 1,000 ns of CPU per key", Suite: "restore", Group: "restore of 1000000 keys", Most: 1000},
		{Goal: "latency exactly-once at 10,000 records/s, interval 100 ms: 130 ms at p99", Suite: "latency", Group: "pass-through exactly-once, interval 100ms, 10000 records/s", Most: 130},
	}
	for _, change := range []string{"join", "leave", "kill"} {
		for _, n := range []string{"8", "64"} {
			all = append(all, report.Bar{Goal: change + ", " + n + " partitions: those that stay are silent an interval (100 ms) longer at most than when nothing changes", Suite: "rebalance",
				Group: change + ", " + n + " partitions, those that stayed", Above: "steady, " + n + " partitions", Most: 100})
		}
	}
	strong := strings.Fields("q0 q1 q2 q4 q5 q7 q14 q21 q22")
	for _, q := range onFlink {
		b := report.Bar{Goal: "Nexmark " + q + ": ahead of Flink", Suite: "nexmark", Group: "Query/" + q, Other: "flink", Times: 1}
		for _, s := range strong {
			if q == s {
				b.Goal, b.Times = "Nexmark "+q+": 3× Flink", 3
			}
		}
		all = append(all, b)
	}
	return all
}

// reportAll writes the figures of benchmarks/results into docs/benchmarks.md, between its two marks.
func reportAll(_ context.Context, args []string) error {
	f := flag.NewFlagSet("report", flag.ContinueOnError)
	if err := f.Parse(args); err != nil {
		return err
	}
	root, err := checkout()
	if err != nil {
		return err
	}
	path := filepath.Join(root, "docs", "benchmarks.md")
	page, err := page(root, path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

// page is docs/benchmarks.md as it should be.
func page(root, path string) (string, error) {
	before, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	suites, err := report.Read(filepath.Join(root, "benchmarks", "results"), order)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprint(&text, "### Goals\n\nHow often weir's cost fits into the other's, or weir's own, by medians of one run.\n\n")
	report.Bars(&text, suites, bars())
	fmt.Fprintln(&text)
	for _, s := range suites {
		s.Markdown(&text, "../benchmarks/results")
	}
	return report.Replace(string(before), text.String())
}
