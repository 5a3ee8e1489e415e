package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/report"
)

// micro runs the micro-benchmarks of both modules that need no broker, and RocksDB's where there is Maven.
func micro(ctx context.Context, args []string) error {
	g, f, err := newGoBench("micro")
	if err != nil {
		return err
	}
	keys := f.Int("keys", 1_000_000, "keys in the states, weir's and RocksDB's")
	onlyState := f.Bool("only-state", false, "state and RocksDB alone")
	rocks := f.Bool("rocksdb", hasMaven(), "RocksDB beside weir's state; needs Maven")
	if err := g.parse(f, args, map[string]string{"benchtime": "1x", "keys": "20000"}); err != nil {
		return err
	}
	s := g.suite()
	if !*onlyState {
		if s.Groups, err = g.run(ctx, g.root, nil, "./..."); err != nil {
			return err
		}
	}
	states, err := g.run(ctx, filepath.Join(g.root, "benchmarks"), nil, "./states", "-keys", strconv.Itoa(*keys))
	if err != nil {
		return err
	}
	report.Merge(&s.Groups, states)
	s.Notes = append(s.Notes, fmt.Sprintf("State: %d keys with values of 100 bytes; hot has room for all of them, cold for 16 MiB", *keys))
	if *rocks {
		if err := g.rocksdb(ctx, *keys, &s.Groups); err != nil {
			return err
		}
		s.Notes = append(s.Notes, "RocksDB 10.10.1.1 by JNI as Kafka Streams sets it: 50 MiB of block cache, write buffers of 16 MiB, no log")
	}
	return g.finish(s, "weir's parts")
}

// kafka runs the clients' benchmarks against one real broker.
func kafka(ctx context.Context, args []string) error {
	g, f, err := newGoBench("kafka")
	if err != nil {
		return err
	}
	if err := g.parse(f, args, map[string]string{"benchtime": "1x"}); err != nil {
		return err
	}
	s := g.suite()
	under := []string{filepath.Join(g.root, "scripts", "kafka"), "run", "-heap", "1g", "--"}
	if s.Groups, err = g.run(ctx, filepath.Join(g.root, "benchmarks"), under, "./clients"); err != nil {
		return err
	}
	return g.finish(s, "Clients on one broker, Apache Kafka 4.4.0")
}

// goBench is a suite that is go test -bench.
type goBench struct {
	*invocation
	match, length string
}

func newGoBench(name string) (*goBench, *flag.FlagSet, error) {
	c, f, err := newInvocation(name)
	if err != nil {
		return nil, nil, err
	}
	g := &goBench{invocation: c}
	f.StringVar(&g.match, "bench", ".", "which benchmarks, a regular expression")
	f.StringVar(&g.length, "benchtime", "1s", "as of go test")
	return g, f, nil
}

func (g *goBench) suite() *report.Suite {
	return &report.Suite{When: time.Now().UTC(), Machine: report.ThisMachine(), Notes: []string{fmt.Sprintf("medians of %d repetitions", g.rounds)}}
}

// run runs go test -bench over packages of the module in dir, once for each round, so that systems alternate. under is put before the command.
func (g *goBench) run(ctx context.Context, dir string, under []string, packages ...string) ([]report.Group, error) {
	command := append(append([]string{}, under...), "go", "test", "-run", "^$", "-bench", g.match, "-benchmem", "-benchtime", g.length,
		"-count", strconv.Itoa(g.rounds), "-p", "1", "-timeout", "2h")
	return run(ctx, dir, append(command, packages...))
}

// rocksdb adds the lines of the RocksDB peer to the groups, a process for each round.
func (g *goBench) rocksdb(ctx context.Context, keys int, groups *[]report.Group) error {
	program, err := buildJava(ctx, g.root, "rocksdb")
	if err != nil {
		return err
	}
	operations := "200000"
	if g.quick {
		operations = "2000"
	}
	for range g.rounds {
		dir, err := os.MkdirTemp("", "weirbench")
		if err != nil {
			return err
		}
		more, err := run(ctx, dir, append(program, dir, strconv.Itoa(keys), operations))
		os.RemoveAll(dir)
		if err != nil {
			return err
		}
		report.Merge(groups, more)
	}
	return nil
}

func hasMaven() bool {
	_, err := exec.LookPath("mvn")
	return err == nil
}

// run runs a command that prints lines as go test -bench does.
func run(ctx context.Context, dir string, command []string) ([]report.Group, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=auto")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	groups, err := report.ReadGoBench(out, os.Stderr)
	if waited := cmd.Wait(); waited != nil {
		return nil, fmt.Errorf("%v: %w", command, waited)
	}
	return groups, err
}

// capture runs a command and keeps what it prints.
func capture(ctx context.Context, out io.Writer, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %w", command, err)
	}
	return nil
}
