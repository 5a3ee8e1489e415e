package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weirstream/weir/benchmarks/internal/report"
)

// An invocation is one run of one suite: the flags that all suites have, and a place for what it finds.
type invocation struct {
	root    string // of the checkout
	name    string // of the files it writes
	results string
	logs    string
	quick   bool
	rounds  int
}

// newInvocation declares the flags that all suites share.
func newInvocation(name string) (*invocation, *flag.FlagSet, error) {
	root, err := checkout()
	if err != nil {
		return nil, nil, err
	}
	c := &invocation{root: root}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.BoolVar(&c.quick, "quick", false, "small sizes, one round: shows that the suite works, says nothing about speed, and writes no results unless -results says where")
	f.StringVar(&c.name, "as", name, "name of the results: NAME.json and NAME.svg")
	f.StringVar(&c.results, "results", "", "folder for JSON and charts. Default: benchmarks/results")
	f.StringVar(&c.logs, "logs", "", "folder for the systems' logs. Default: a temporary one")
	f.IntVar(&c.rounds, "rounds", 3, "how often each system is measured: A B C, A B C, …")
	return c, f, nil
}

// parse reads the flags. small sets what -quick asks for where the caller has not said otherwise.
func (c *invocation) parse(f *flag.FlagSet, args []string, small map[string]string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	given := make(map[string]bool)
	f.Visit(func(one *flag.Flag) { given[one.Name] = true })
	if c.quick {
		small["rounds"] = "1"
		for name, value := range small {
			if f.Lookup(name) == nil || given[name] {
				continue
			}
			if err := f.Set(name, value); err != nil {
				return err
			}
		}
	}
	if c.results == "" && !c.quick {
		c.results = filepath.Join(c.root, "benchmarks", "results")
	}
	if c.logs != "" {
		return os.MkdirAll(c.logs, 0o755)
	}
	return nil
}

// finish prints a suite and writes it. A suite without any figure leaves what is there; a system that failed is an error, with
// the figures of the others written.
func (c *invocation) finish(s *report.Suite, title string) error {
	s.Name, s.Title = c.name, title
	s.Print(os.Stdout)
	figures := false
	var failed []error
	for _, g := range s.Groups {
		for _, r := range g.Rows {
			figures = figures || len(r.Runs) > 0
			if r.Failed != "" {
				failed = append(failed, fmt.Errorf("%s, %s: %s", g.Name, r.System, r.Failed))
			}
		}
	}
	if !figures {
		return errors.Join(append([]error{errors.New("nothing was measured, and nothing written")}, failed...)...)
	}
	if c.results != "" {
		if err := s.Write(c.results); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}
