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

// micro runs the micro-benchmarks of both modules that need no broker.
func micro(ctx context.Context, args []string) error {
	return goBench(ctx, args, "micro", "weir's parts", []string{"./chain", "./serdes", "./states", "./windows"}, nil)
}

// kafka runs the clients' benchmarks against one real broker.
func kafka(ctx context.Context, args []string) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	under := []string{filepath.Join(root, "scripts", "kafka"), "run", "-heap", "1g", "--"}
	return goBench(ctx, args, "kafka", "Clients on one broker", []string{"./clients"}, under)
}

// nexmark runs the Nexmark queries.
func nexmark(ctx context.Context, args []string) error {
	return goBench(ctx, args, "nexmark", "Nexmark", []string{"./nexmark/..."}, nil)
}

// goBench runs go test -bench over the packages that exist, -count times, so that systems alternate: each repetition
// runs all of them once. under is put before the command.
func goBench(ctx context.Context, args []string, name, title string, packages, under []string) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	count := flags.Int("count", 5, "repetitions")
	match := flags.String("bench", ".", "which benchmarks, a regular expression")
	length := flags.String("benchtime", "1s", "as of go test")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := checkout()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "benchmarks")
	command := append(append([]string{}, under...), "go", "test", "-run", "^$", "-bench", *match, "-benchmem", "-benchtime", *length,
		"-count", strconv.Itoa(*count), "-p", "1", "-timeout", "2h")
	for _, p := range packages {
		if _, err := os.Stat(filepath.Join(dir, filepath.Dir(p+"/"))); err == nil || under != nil {
			command = append(command, p)
		}
	}
	groups, err := run(ctx, dir, command)
	if err != nil {
		return err
	}
	s := &report.Suite{Name: name, Title: title, When: time.Now().UTC(), Machine: report.ThisMachine(), Groups: groups,
		Notes: []string{fmt.Sprintf("%d repetitions, medians", *count)}}
	s.Print(os.Stdout)
	return s.Write(filepath.Join(dir, "results"))
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
	groups, err := report.ReadGoBench(out, io.Writer(os.Stderr))
	if waited := cmd.Wait(); waited != nil {
		return nil, fmt.Errorf("%v: %w", command, waited)
	}
	return groups, err
}
