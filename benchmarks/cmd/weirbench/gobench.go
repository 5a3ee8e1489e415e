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

// keys is how many keys the states have, weir's and RocksDB's.
const keys = "1000000"

// micro runs the micro-benchmarks of both modules that need no broker, and RocksDB's where there is Maven.
func micro(ctx context.Context, args []string) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	s, o, err := goBench(ctx, args, "micro", []string{"./..."}, root, nil)
	if err != nil {
		return err
	}
	states, _, err := goBench(ctx, args, "micro", []string{"./states", "-keys", keys}, filepath.Join(root, "benchmarks"), nil)
	if err != nil {
		return err
	}
	s.Groups = append(s.Groups, states.Groups...)
	if o.rocksdb {
		if err := rocksdb(ctx, root, &s.Groups); err != nil {
			return err
		}
		s.Notes = append(s.Notes, "RocksDB 10.10.1.1 by JNI as Kafka Streams sets it: 50 MiB of block cache, write buffers of 16 MiB, no log")
	}
	return finish(s, root, "weir's parts")
}

// rocksdb adds the lines of the RocksDB peer to the groups.
func rocksdb(ctx context.Context, root string, groups *[]report.Group) error {
	program, err := buildJava(ctx, root, "rocksdb")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weirbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	more, err := run(ctx, dir, append(program, dir, keys))
	if err != nil {
		return err
	}
	report.Merge(groups, more)
	return nil
}

// kafka runs the clients' benchmarks against one real broker.
func kafka(ctx context.Context, args []string) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	under := []string{filepath.Join(root, "scripts", "kafka"), "run", "-heap", "1g", "--"}
	s, _, err := goBench(ctx, args, "kafka", []string{"./clients"}, filepath.Join(root, "benchmarks"), under)
	if err != nil {
		return err
	}
	return finish(s, root, "Clients on one broker, Apache Kafka 4.4.0")
}

// goOptions are the flags of the suites that are go test -bench.
type goOptions struct {
	count         int
	match, length string
	rocksdb       bool
}

// goBench runs go test -bench over packages of the module in dir, -count times, so that systems alternate: each repetition
// runs all of them once. under is put before the command.
func goBench(ctx context.Context, args []string, name string, packages []string, dir string, under []string) (*report.Suite, goOptions, error) {
	var o goOptions
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.IntVar(&o.count, "count", 5, "repetitions")
	flags.StringVar(&o.match, "bench", ".", "which benchmarks, a regular expression")
	flags.StringVar(&o.length, "benchtime", "1s", "as of go test")
	flags.BoolVar(&o.rocksdb, "rocksdb", name == "micro" && hasMaven(), "RocksDB beside weir's state; needs Maven")
	if err := flags.Parse(args); err != nil {
		return nil, o, err
	}
	command := append(append([]string{}, under...), "go", "test", "-run", "^$", "-bench", o.match, "-benchmem", "-benchtime", o.length,
		"-count", strconv.Itoa(o.count), "-p", "1", "-timeout", "2h")
	groups, err := run(ctx, dir, append(command, packages...))
	if err != nil {
		return nil, o, err
	}
	return &report.Suite{Name: name, When: time.Now().UTC(), Machine: report.ThisMachine(), Groups: groups,
		Notes: []string{fmt.Sprintf("%d repetitions, medians", o.count)}}, o, nil
}

func hasMaven() bool {
	_, err := exec.LookPath("mvn")
	return err == nil
}

// finish prints a suite and writes it.
func finish(s *report.Suite, root, title string) error {
	s.Title = title
	s.Print(os.Stdout)
	return s.Write(filepath.Join(root, "benchmarks", "results"))
}

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
