package main

import (
	"bytes"
	"context"
	"errors"
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

// onFlink are the queries that the Flink peer has: all but those that [suite.Queries] leaves out of comparisons.
var onFlink = strings.Fields("q0 q1 q2 q3 q4 q5 q7 q8 q9 q11 q13 q14 q15 q16 q17 q18 q19 q20 q21 q22 q23")

// published are events per second and core that others measured for Flink 2.0 or newer, on other hardware. They are printed as
// anchors and compared with nothing.
const published = "published elsewhere for Flink >= 2.0, events per second and core, other hardware: q0 378 k, q3 219 k, q4 28 k, q5 75 k, " +
	"q7 23 k, q8 162 k, q9 14 k, q11 46 k, q16 45 k, q17 161 k, q18 65 k, q20 18 k"

// checked is how many events a peer's rows are checked over; package answer is slow on purpose.
const checked = 20_000

// nexmark runs the queries from a generator to nothing in one process: weir, then Flink, for each query in turn. Both make the same
// events, and Flink's rows are checked against package answer as weir's are by its tests.
func nexmark(ctx context.Context, args []string) error {
	c, f, err := newInvocation("nexmark")
	if err != nil {
		return err
	}
	events := f.Int("events", 5_000_000, "events of each measurement, enough to make the start of a job small; Flink runs twice as many before to warm up")
	queries := f.String("queries", "", "only these, separated by commas")
	flink := f.Bool("flink", hasMaven(), "Flink beside weir; needs Maven")
	topics := f.Bool("kafka", false, "from topic to topic, exactly-once, instead of from a generator to nothing; weir alone")
	if err := c.parse(f, args, map[string]string{"events": "50000"}); err != nil {
		return err
	}
	if *topics {
		return nexmarkTopics(ctx, c, *events, *queries)
	}
	root := c.root
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
	s := &report.Suite{When: time.Now().UTC(), Machine: report.ThisMachine().WithJava(), Notes: []string{
		fmt.Sprintf("generator to nothing in one process, %d events; Flink 2.3.0: heap state, parallelism 1, object reuse, no checkpoints", *events),
		published}}
	for _, q := range suite.Queries() {
		if *queries == "" || slices.Contains(strings.Split(*queries, ","), q.Name) {
			n.query(ctx, q, c.rounds, &s.Groups)
		}
	}
	return c.finish(s, "Nexmark: CPU per event of the whole process")
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

// query measures one query: A B A B. What fails, or has other rows than package answer, is a row without figures.
func (n *nexmarkRun) query(ctx context.Context, q suite.Query, count int, groups *[]report.Group) {
	group := report.Group{Name: "Query/" + q.Name, Unit: "cpu-ns/rec"}
	systems := []struct {
		name    string
		check   func(context.Context, suite.Query) error
		command []string
	}{
		{"weir", n.checkWeir, []string{n.weir, "-test.run", "^$", "-test.bench", "Query/^" + q.Name + "$/", "-test.benchtime", n.events + "x", "-test.benchmem"}},
		{"flink", n.check, append(slices.Clone(n.flink), "bench", q.Name, n.events)},
	}
	if n.flink == nil || !slices.Contains(onFlink, q.Name) {
		systems = systems[:1]
	}
	for _, s := range systems {
		row := report.Row{System: s.name}
		if err := s.check(ctx, q); err != nil {
			row.Failed = err.Error()
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n", q.Name, s.name, err)
		}
		group.Rows = append(group.Rows, row)
	}
	for range count {
		for i, s := range systems {
			row := &group.Rows[i]
			if row.Failed != "" || ctx.Err() != nil {
				continue
			}
			more, err := run(ctx, n.folder(), s.command)
			if err == nil && len(more) != 1 {
				err = fmt.Errorf("%d figures instead of one", len(more))
			}
			if err != nil {
				row.Failed, row.Runs = err.Error(), nil
				continue
			}
			row.Runs = append(row.Runs, more[0].Rows[0].Runs...)
		}
	}
	*groups = append(*groups, group)
}

// folder is where the test binary finds what it reads.
func (n *nexmarkRun) folder() string { return filepath.Join(n.root, "benchmarks", "nexmark") }

// checkWeir runs weir's own test of the query against the answer.
func (n *nexmarkRun) checkWeir(ctx context.Context, q suite.Query) error {
	_, err := run(ctx, n.folder(), []string{n.weir, "-test.run", "^TestQueriesAgainstAnswers$/^" + q.Name + "$"})
	return err
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
