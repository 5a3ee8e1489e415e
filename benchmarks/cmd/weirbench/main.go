// Command weirbench measures weir beside its peers. Each of its suites starts what it needs, checks results before it
// counts time, prints tables, and writes JSON and a chart into benchmarks/results.
//
//	weirbench micro   [-count 5] [-bench REGEXP]   go test -bench over the micro-benchmarks
//	weirbench kafka   [-count 5]                   weir, sarama and franz-go on one broker
//	weirbench peers   [-rounds 3] [-records 3e6]   weir, Kafka Streams, Flink and goka on one broker
//	weirbench nexmark [-count 3]                   the Nexmark queries
//	weirbench latency   [-rate 10000] [-commit 100ms]   intended sending to read_committed receipt
//	weirbench restore   [-keys 1e6]                     state back from its changelog
//	weirbench rebalance [-rate 10000]                   the longest silence when processes come and go
//	weirbench soak    [-for 1h]                    weir under load, killed again and again
//
// It is run in the folder benchmarks of a checkout.
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

// commands are the suites by name.
var commands = map[string]func(context.Context, []string) error{
	"micro":   micro,
	"kafka":   kafka,
	"peers":   peers,
	"nexmark": nexmark,
	"latency": latency, "restore": restore, "rebalance": rebalance,
	"soak": soak,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: weirbench micro | kafka | peers | nexmark | latency | restore | rebalance | soak [flags]; -h after one of them lists its flags")
		os.Exit(2)
	}
	err := commands[os.Args[1]](ctx, os.Args[2:])
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
