package main

import (
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/benchmarks/internal/report"
)

// The longest silence without a change stands beside those of the changes, of every partition and for every system.
func TestSilencesStandBesideTheSteadyOne(t *testing.T) {
	ms := func(all ...time.Duration) []time.Duration {
		for i := range all {
			all[i] *= time.Millisecond
		}
		return all
	}
	var groups []report.Group
	for _, name := range changeNames {
		for _, kind := range kinds(name) {
			groups = append(groups, report.Group{Name: name + kind, Rows: []report.Row{{System: "weir"}, {System: "kstreams"}}})
		}
	}
	note(groups, 1, []change{
		{ms(110, 130, 120), []bool{false, true, false}}, // a group that asks for a round by itself is steady all the same
		{ms(900, 140, 150), []bool{true, false, false}},
		{ms(160, 170, 180), []bool{false, false, false}}, // none moved
		{ms(7000, 7100, 190), []bool{true, true, false}},
	})
	want := []struct {
		name       string
		longest, n float64
	}{
		{"steady", 130, 3}, {"join, those that moved", 900, 1}, {"join, those that stayed", 150, 2}, {"leave, those that moved", 0, 0},
		{"leave, those that stayed", 180, 3}, {"kill, those that moved", 7100, 2}, {"kill, those that stayed", 190, 1},
	}
	for i, g := range groups {
		w := want[i]
		one := slices.ContainsFunc(g.Rows[1].Runs, func(r report.Run) bool { return r.Cost == w.longest && r.More["partitions"] == w.n })
		if g.Name != w.name || len(g.Rows[0].Runs) != 0 || one != (w.n > 0) || len(g.Rows[1].Runs) > 1 {
			t.Errorf("%s: %+v, want %+v of the second system alone", g.Name, g.Rows, w)
		}
	}
}
