package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/report"
	suite "github.com/weirstream/weir/benchmarks/nexmark"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// onFlink are the queries that the Flink peer has.
var onFlink = strings.Fields("q0 q1 q2 q3 q4 q5 q7 q8 q11 q14 q21 q22")

// published are events per second and core that others measured for Flink 2.0 or newer, on other hardware. They are printed as
// anchors and compared with nothing.
const published = "published elsewhere for Flink >= 2.0, events per second and core, other hardware: q0 378 k, q3 219 k, q4 28 k, q5 75 k, " +
	"q7 23 k, q8 162 k, q9 14 k, q11 46 k, q16 45 k, q17 161 k, q18 65 k, q20 18 k"

// checked is how many events a peer's rows are checked over; package answer is slow on purpose.
const checked = 20_000

// nexmark runs the queries from a generator to nothing in one process: weir, then Flink, for each query in turn. Both make the same
// events, and Flink's rows are checked against package answer as weir's are by its tests.
func nexmark(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("nexmark", flag.ContinueOnError)
	count := flags.Int("count", 3, "repetitions")
	events := flags.Int("events", 5_000_000, "events of each measurement, enough to make the start of a job small; Flink runs twice as many before to warm up")
	queries := flags.String("queries", "", "only these, separated by commas")
	flink := flags.Bool("flink", hasMaven(), "Flink beside weir; needs Maven")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := checkout()
	if err != nil {
		return err
	}
	n := &nexmarkRun{root: root, events: strconv.Itoa(*events)}
	if *flink {
		program, err := buildJava(ctx, root, "flink")
		if err != nil {
			return err
		}
		n.flink = append(program[:len(program)-1], "weirstream.nexmark.Nexmark")
	}
	if err := n.build(ctx); err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(n.weir))
	s := &report.Suite{Name: "nexmark", When: time.Now().UTC(), Machine: report.ThisMachine().WithJava(), Notes: []string{
		fmt.Sprintf("generator to nothing in one process, %d events; Flink 2.3.0: heap state, parallelism 1, object reuse, a checkpoint every second", *events),
		published}}
	for _, q := range suite.Queries() {
		if *queries == "" || slices.Contains(strings.Split(*queries, ","), q.Name) {
			n.query(ctx, q, *count, &s.Groups)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return finish(s, root, "Nexmark: CPU per event of the whole process")
}

type nexmarkRun struct {
	root, events string
	weir         string // the test binary
	flink        []string
}

// build compiles weir's benchmark once: it is run for every query and repetition.
func (n *nexmarkRun) build(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "weirbench")
	if err != nil {
		return err
	}
	n.weir = filepath.Join(dir, "nexmark.test")
	_, err = run(ctx, filepath.Join(n.root, "benchmarks"), []string{"go", "test", "-c", "-o", n.weir, "./nexmark"})
	return err
}

// query measures one query: A B A B. What fails is a row without figures.
func (n *nexmarkRun) query(ctx context.Context, q suite.Query, count int, groups *[]report.Group) {
	both := n.flink != nil && slices.Contains(onFlink, q.Name)
	if both {
		if err := n.check(ctx, q); err != nil {
			both = false
			fmt.Fprintf(os.Stderr, "flink: %v\n", err)
		}
	}
	weir := []string{n.weir, "-test.run", "^$", "-test.bench", "Query/^" + q.Name + "$/", "-test.benchtime", n.events + "x", "-test.benchmem"}
	for range count {
		commands := [][]string{weir}
		if both {
			commands = append(commands, append(slices.Clone(n.flink), "bench", q.Name, n.events))
		}
		for _, command := range commands {
			more, err := run(ctx, filepath.Join(n.root, "benchmarks", "nexmark"), command)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", q.Name, err)
				continue
			}
			report.Merge(groups, more)
		}
	}
}

// check compares the rows that Flink prints with the answer.
func (n *nexmarkRun) check(ctx context.Context, q suite.Query) error {
	var out bytes.Buffer
	if err := capture(ctx, &out, append(slices.Clone(n.flink), "check", q.Name, strconv.Itoa(checked))); err != nil {
		return err
	}
	rows, seen := suite.NewRows(q), 0
	for line := range strings.Lines(out.String()) {
		if row, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "row "); ok {
			rows.Printed(row)
			seen++
		}
	}
	if seen == 0 {
		return errors.New("it printed no rows for " + q.Name)
	}
	return rows.Check(q, event.New(event.Config{PerSecond: 1000}).First(checked))
}
