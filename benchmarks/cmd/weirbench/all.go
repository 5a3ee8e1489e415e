package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A step is one suite with its flags, those that say how much it does apart from the others, and what it took on two quiet cores.
type step struct {
	name string
	took time.Duration
	args string
	size string
}

// plan is everything, what matters most first: when the time is over the rest is left out.
var plan = []step{
	{"nexmark", 16 * time.Minute, "nexmark", "-rounds 2 -events 1000000"},
	{"peers", 11 * time.Minute, "peers -jobs pass,count,count-every,repartition", "-rounds 2 -warm 1500000 -records 2000000"},
	{"restore", 3 * time.Minute, "restore", "-rounds 2"},
	{"latency", 7 * time.Minute, "latency", "-rounds 1 -for 20s"},
	{"rebalance", 9 * time.Minute, "rebalance", "-rounds 1"},
	{"rebalance-state", 9 * time.Minute, "rebalance -as rebalance-state -standbys 1", "-rounds 1"},
	{"peers-alo", 6 * time.Minute, "peers -as peers-alo -jobs pass-alo,count-alo", "-rounds 2 -warm 1500000 -records 2000000"},
	{"peers-intervals", 8 * time.Minute, "peers -as peers-intervals -commit 100ms,10s -systems weir,kstreams -jobs pass,pass-alo,count", "-rounds 2"},
	{"nexmark-kafka", 4 * time.Minute, "nexmark -kafka -as nexmark-kafka", "-rounds 2 -events 1000000"},
	{"kafka", 3 * time.Minute, "kafka", "-rounds 2"},
	{"peers-pinned", 8 * time.Minute, "peers -as peers-pinned -pin -jobs pass,count", "-rounds 2 -warm 1500000 -records 2000000"},
	{"micro", 10 * time.Minute, "micro", "-rounds 2"},
	{"peers-big", 10 * time.Minute, "peers -as peers-big -big", "-rounds 1"},
	{"restore-10m", 10 * time.Minute, "restore -as restore-10m", "-keys 10000000 -rounds 1"},
	{"micro-10m", 8 * time.Minute, "micro -as micro-10m -only-state", "-keys 10000000 -rounds 1"},
	{"limits", 2 * time.Minute, "limits", "-rounds 3"},
	{"soak", 3 * time.Minute, "soak", "-for 2m"},
}

// all runs the plan within a time, then writes the figures into docs/benchmarks.md. A step that fails stops no other.
func all(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("all", flag.ContinueOnError)
	within := f.Duration("within", 30*time.Minute, "no step starts that would take longer than what is left of this")
	quick := f.Bool("quick", false, "each suite with -quick: shows that they work; nothing is written")
	only := f.String("only", "", "only these steps, separated by commas")
	list := f.Bool("list", false, "print the plan and do nothing")
	if err := f.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, *within+5*time.Minute) // a step that takes much longer than it should is ended
	defer cancel()
	var failed []error
	for _, s := range plan {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), s.name) {
			continue
		}
		left := (*within - time.Since(began)).Round(time.Second)
		command := strings.Fields(s.args + " " + s.size)
		switch {
		case *list:
			fmt.Printf("%-16s %5.0f min  weirbench %s\n", s.name, s.took.Minutes(), strings.Join(command, " "))
			continue
		case *quick:
			command = append(strings.Fields(s.args), "-quick")
		case s.took > left:
			fmt.Fprintf(os.Stderr, "=== %s left out: it takes about %v, and %v are left\n", s.name, s.took, left)
			continue
		}
		fmt.Fprintf(os.Stderr, "\n=== %s: weirbench %s (%v left)\n", s.name, strings.Join(command, " "), left)
		start := time.Now()
		err := suites()[command[0]](ctx, command[1:])
		fmt.Fprintf(os.Stderr, "=== %s took %v\n", s.name, time.Since(start).Round(time.Second))
		if err != nil {
			fmt.Fprintf(os.Stderr, "=== %s failed: %v\n", s.name, err)
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	if !*list && !*quick {
		failed = append(failed, reportAll(ctx, nil))
	}
	return errors.Join(failed...)
}
