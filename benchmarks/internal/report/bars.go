package report

import (
	"fmt"
	"io"
	"strings"
)

// A Bar is a goal: the other system's cost must be so many times weir's, in the same run. Groups are named by how they begin.
type Bar struct {
	Goal         string
	Suite        string
	Group, Other string  // group and row of the other system
	Base         string  // group of weir's row when it is another one
	Times        float64 // at least; 0 means Most counts
	Most         float64 // weir's own cost, at most
	Above        string  // group of weir's row from which on Most counts
}

// Bars writes how the suites stand to the goals.
func Bars(w io.Writer, suites []*Suite, bars []Bar) {
	fmt.Fprint(w, "| goal | measured | |\n|---|---:|---|\n")
	for _, b := range bars {
		value, ok := b.measured(suites)
		switch {
		case !ok:
			fmt.Fprintf(w, "| %s | not measured | |\n", b.Goal)
		case b.Times > 0:
			digits := 1
			if b.Times < 1 {
				digits = 2
			}
			fmt.Fprintf(w, "| %s | %.*f× | %s |\n", b.Goal, digits, value, verdict(value >= b.Times))
		default:
			fmt.Fprintf(w, "| %s | %s | %s |\n", b.Goal, number(value), verdict(value <= b.Most))
		}
	}
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

// measured is the ratio, or weir's cost where that is the goal.
func (b Bar) measured(suites []*Suite) (float64, bool) {
	base := b.Base
	if base == "" {
		base = b.Group
	}
	weir, ok := cost(suites, b.Suite, base, "weir")
	if ok && b.Above != "" {
		var above float64
		above, ok = cost(suites, b.Suite, b.Above, "weir")
		weir -= above
	}
	if !ok || b.Times == 0 {
		return weir, ok
	}
	other, ok := cost(suites, b.Suite, b.Group, b.Other)
	return other / weir, ok && weir > 0
}

// cost is the median of one row.
func cost(suites []*Suite, suite, group, system string) (float64, bool) {
	for _, s := range suites {
		for _, g := range s.Groups {
			if s.Name != suite || g.Name != group && !strings.HasPrefix(g.Name, group+",") {
				continue
			}
			for _, r := range g.Rows {
				if r.System == system && r.Failed == "" && len(r.Runs) > 0 {
					return r.Cost().Median, true
				}
			}
		}
	}
	return 0, false
}
