// Command weirbench measures weir beside its peers. Each of its suites starts what it needs, checks results before it
// counts time, prints tables, and writes JSON and a chart into benchmarks/results.
//
//	weirbench all       [-within 30m] [-list]        everything that fits into a time, what matters most first, then report
//	weirbench micro     [-bench REGEXP] [-keys 1e6]  go test -bench over the micro-benchmarks, RocksDB beside state
//	weirbench kafka                                  weir, sarama and franz-go on one broker
//	weirbench peers     [-jobs …] [-commit 1s,…]     weir, Kafka Streams, Flink and goka on one broker
//	weirbench nexmark   [-queries …] [-kafka]        the Nexmark queries, Flink beside weir
//	weirbench latency   [-load 10000,50%,80%]        intended sending to read_committed receipt
//	weirbench restore   [-keys 1000000]              state back from its changelog
//	weirbench rebalance [-partitions 8,64] [-standbys 1]  the longest silence when processes come and go
//	weirbench soak      [-for 1h]                    weir under load, killed again and again
//	weirbench limits                                 copying, fsync, Kafka's own performance tests
//	weirbench report                                 the figures in docs/benchmarks.md from benchmarks/results
//
// Every suite has -quick (small, shows that it works), -rounds, -as NAME, -results DIR and -logs DIR. It is run inside a checkout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// suites are what can be run, by name.
func suites() map[string]func(context.Context, []string) error {
	return map[string]func(context.Context, []string) error{
		"all": all, "report": reportAll,
		"micro": micro, "kafka": kafka, "peers": peers, "nexmark": nexmark,
		"latency": latency, "restore": restore, "rebalance": rebalance, "soak": soak, "limits": limits,
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 || suites()[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: weirbench all | micro | kafka | peers | nexmark | latency | restore | rebalance | soak | limits | report [flags]; -h after one of them lists its flags")
		os.Exit(2)
	}
	err := suites()[os.Args[1]](ctx, os.Args[2:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "weirbench:", err)
		os.Exit(1)
	}
}

// checkout finds the repository above the working directory.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "scripts", "kafka")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("run me inside a checkout of weir")
}
