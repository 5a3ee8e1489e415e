// Package report turns measurements into what people read: a table on the terminal, JSON with machine, versions and
// commit beside it, and a chart for the documentation.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Suite is everything measured in one run of one command.
type Suite struct {
	Name    string    `json:"name"`
	Title   string    `json:"title"`
	When    time.Time `json:"when"`
	Machine Machine   `json:"machine"`
	Notes   []string  `json:"notes,omitempty"` // settings, in words
	Groups  []Group   `json:"groups"`
}

// A Group holds systems that did the same work: they are compared with each other. The first one is the base of ratios.
type Group struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // of Run.Cost, e.g. "ns of CPU per record"
	Rows []Row  `json:"rows"`
}

// A Row is one system with its runs, in the order they were made.
type Row struct {
	System string `json:"system"`
	Runs   []Run  `json:"runs"`
	Failed string `json:"failed,omitempty"` // why there are no figures: wrong results have no speed
}

// A Run is one measurement. Zero means not measured.
type Run struct {
	Cost       float64            `json:"cost"`
	PerSecond  float64            `json:"per_second,omitempty"`
	PeakMemory int64              `json:"peak_memory_bytes,omitempty"`
	Allocs     float64            `json:"allocs,omitempty"`
	More       map[string]float64 `json:"more,omitempty"`
}

// Spread is the median, least and greatest of a set.
type Spread struct{ Median, Min, Max float64 }

// Spread summarises one figure of a row's runs.
func (r Row) Spread(figure func(Run) float64) Spread {
	if len(r.Runs) == 0 {
		return Spread{}
	}
	all := make([]float64, 0, len(r.Runs))
	for _, run := range r.Runs {
		all = append(all, figure(run))
	}
	slices.Sort(all)
	middle := len(all) / 2
	median := all[middle]
	if len(all)%2 == 0 {
		median = (all[middle-1] + all[middle]) / 2
	}
	return Spread{median, all[0], all[len(all)-1]}
}

// Cost is the figure that a row is judged by.
func (r Row) Cost() Spread { return r.Spread(func(r Run) float64 { return r.Cost }) }

// Print writes the tables.
func (s *Suite) Print(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n%s\n", s.Title, s.Machine)
	for _, note := range s.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	for _, g := range s.Groups {
		g.print(w)
	}
}

func (g Group) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s\n", g.Name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "system\t%s\tmin\tmax\tratio\tper second\tpeak MiB\tallocs\truns\t\n", g.Unit)
	base := 0.0
	for _, r := range g.Rows {
		if r.Failed != "" || len(r.Runs) == 0 {
			fmt.Fprintf(t, "%s\t-\t-\t-\t-\t-\t-\t-\t0\t\n", r.System)
			continue
		}
		c := r.Cost()
		base = cmp.Or(base, c.Median)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f\t%s\t%s\t%s\t%d\t\n", r.System, number(c.Median), number(c.Min), number(c.Max), c.Median/base,
			optional(r.Spread(func(r Run) float64 { return r.PerSecond }).Median),
			optional(r.Spread(func(r Run) float64 { return float64(r.PeakMemory >> 20) }).Median),
			optional(r.Spread(func(r Run) float64 { return r.Allocs }).Median), len(r.Runs))
	}
	t.Flush()
	for _, r := range g.Rows {
		if r.Failed != "" {
			fmt.Fprintf(w, "  %s: NO FIGURE: %s\n", r.System, r.Failed)
		}
	}
}

// number has about three digits that mean something, grouped by thousands.
func number(v float64) string {
	switch {
	case v >= 1000:
		digits := fmt.Sprintf("%.0f", v)
		var parts []string
		for len(digits) > 3 {
			parts = append([]string{digits[len(digits)-3:]}, parts...)
			digits = digits[:len(digits)-3]
		}
		return strings.Join(append([]string{digits}, parts...), ",")
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

func optional(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

// Write puts NAME.json and NAME.svg into dir.
func (s *Suite) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, s.Name+".json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, s.Name+".svg"), []byte(s.SVG()), 0o644)
}
