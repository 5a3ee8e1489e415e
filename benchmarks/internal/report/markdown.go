package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Read reads every NAME.json of a folder, in the order of names; those that order does not name come behind, by name.
func Read(dir string, order []string) ([]*Suite, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*Suite
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s := new(Suite)
		if err := json.Unmarshal(text, s); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, s)
	}
	place := func(s *Suite) int {
		if i := slices.Index(order, s.Name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(all, func(a, b *Suite) int { return place(a) - place(b) })
	return all, nil
}

// Markdown writes the suite as a section: chart, machine, notes, tables. charts is the folder of the charts as the page sees it.
func (s *Suite) Markdown(w io.Writer, charts string) {
	fmt.Fprintf(w, "### %s\n\n`%s`, %s: %s.\n", s.Title, s.Name, s.When.Format("2006-01-02 15:04 UTC"), s.Machine)
	for _, note := range s.Notes {
		fmt.Fprintf(w, "- %s.\n", note)
	}
	fmt.Fprintf(w, "\n![%s](%s/%s.svg)\n", s.Title, charts, s.Name)
	if len(s.Groups) > maxTables {
		fmt.Fprintf(w, "\nThe tables of all %d measurements are in [%s.json](%s/%s.json).\n", len(s.Groups), s.Name, charts, s.Name)
	}
	for _, g := range s.Groups[:min(len(s.Groups), maxTables)] {
		g.markdown(w)
	}
	fmt.Fprintln(w)
}

// maxTables is how many tables a page takes of one suite.
const maxTables = 30

func (g Group) markdown(w io.Writer) {
	more := g.more()
	fmt.Fprintf(w, "\n**%s**\n\n| system | %s | min – max | ratio | per second | peak MiB |", g.Name, g.Unit)
	line := "|---|---:|---:|---:|---:|---:|"
	for _, name := range more {
		fmt.Fprintf(w, " %s |", name)
		line += "---:|"
	}
	fmt.Fprintf(w, "\n%s\n", line)
	for _, r := range g.Rows {
		if r.Failed != "" || len(r.Runs) == 0 {
			fmt.Fprintf(w, "| %s | no figure |%s\n", r.System, strings.Repeat(" |", 4+len(more)))
			continue
		}
		c := r.Cost()
		fmt.Fprintf(w, "| %s | %s | %s – %s | %s | %s | %s |", r.System, number(c.Median), number(c.Min), number(c.Max), g.times(r),
			optional(r.Spread(func(r Run) float64 { return r.PerSecond }).Median),
			optional(r.Spread(func(r Run) float64 { return float64(r.PeakMemory >> 20) }).Median))
		for _, name := range more {
			fmt.Fprintf(w, " %s |", optional(r.Spread(func(r Run) float64 { return r.More[name] }).Median))
		}
		fmt.Fprintln(w)
	}
}

// times is a row's cost in units of the first one's.
func (g Group) times(r Row) string {
	if base := g.Rows[0].Cost().Median; base > 0 {
		return fmt.Sprintf("%.2f", r.Cost().Median/base)
	}
	return ""
}

// more are the names of the further figures that people read: those with a unit behind a space. Others are for programs.
func (g Group) more() []string {
	var names []string
	for _, r := range g.Rows {
		for _, run := range r.Runs {
			for name := range run.More {
				if strings.Contains(name, " ") && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Begin and End enclose what Replace writes.
const (
	Begin = "<!-- figures: written by weirbench report -->"
	End   = "<!-- end of figures -->"
)

// Replace puts text between Begin and End of a page.
func Replace(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, Begin)
	_, after, closed := strings.Cut(rest, End)
	if !found || !closed {
		return "", errors.New("the page lacks " + Begin + " or " + End)
	}
	return before + Begin + "\n\n" + strings.TrimSpace(text) + "\n\n" + End + after, nil
}
