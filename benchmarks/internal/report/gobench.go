package report

import (
	"bufio"
	"cmp"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// benchLine is one line of go test -bench: name, iterations, then pairs of value and unit.
var benchLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// ReadGoBench reads the output of go test -bench. "BenchmarkRead/weir" is system weir in group Read; a benchmark without a
// second part is weir's. The package goes before the group's name, but for the folder benchmarks. Cost is cpu-ns/rec where
// the benchmark reports that, else cpu-ns/op, ns/rec, ns/op. Every line that is read is copied to echo.
func ReadGoBench(r io.Reader, echo io.Writer) ([]Group, error) {
	var groups []Group
	prefix := ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		io.WriteString(echo, lines.Text()+"\n")
		if pkg, ok := strings.CutPrefix(lines.Text(), "pkg: "); ok {
			prefix = packagePrefix(pkg)
		}
		m := benchLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		name, system, _ := strings.Cut(m[1], "/")
		if at := strings.LastIndexByte(system, '/'); at >= 0 {
			name, system = name+"/"+system[:at], system[at+1:]
		}
		run, unit := parseRun(m[2])
		add(&groups, prefix+name, cmp.Or(system, "weir"), unit, run)
	}
	return groups, lines.Err()
}

// packagePrefix names the package of a group; those of the benchmarks module need none.
func packagePrefix(pkg string) string {
	pkg = strings.TrimPrefix(pkg, "github.com/weirstream/weir/")
	if strings.HasPrefix(pkg, "benchmarks/") {
		return ""
	}
	return pkg + " "
}

// Merge adds the rows of more to the groups of the same name.
func Merge(groups *[]Group, more []Group) {
	for _, m := range more {
		for _, r := range m.Rows {
			for _, run := range r.Runs {
				add(groups, m.Name, r.System, m.Unit, run)
			}
		}
	}
}

func parseRun(pairs string) (Run, string) {
	values := make(map[string]float64)
	fields := strings.Fields(pairs)
	for i := 0; i+1 < len(fields); i += 2 {
		if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
			values[fields[i+1]] = v
		}
	}
	run := Run{Allocs: values["allocs/op"], PerSecond: values["rec/s"], More: values}
	for _, unit := range []string{"cpu-ns/rec", "cpu-ns/op", "ns/rec", "ns/op"} {
		if v, ok := values[unit]; ok {
			run.Cost = v
			return run, unit
		}
	}
	return run, "?"
}

func add(groups *[]Group, name, system, unit string, run Run) {
	g := find(groups, func(g *Group) bool { return g.Name == name }, Group{Name: name, Unit: unit})
	r := find(&g.Rows, func(r *Row) bool { return r.System == system }, Row{System: system})
	r.Runs = append(r.Runs, run)
}

// find returns the element that matches, appended first if there is none.
func find[T any](all *[]T, match func(*T) bool, otherwise T) *T {
	for i := range *all {
		if match(&(*all)[i]) {
			return &(*all)[i]
		}
	}
	*all = append(*all, otherwise)
	return &(*all)[len(*all)-1]
}
