package cases

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

func TestCases(t *testing.T) {
	all := load(t)
	pending := map[string]int{}
	passed, settled := 0, 0
	for _, c := range all {
		t.Run(c.family+"/"+c.Name, func(t *testing.T) {
			err := run(t, c)
			why, known := differences()[c.Name]
			switch {
			case errors.Is(err, errPending):
				pending[c.Operation]++
			case known && err == nil:
				t.Errorf("it is listed as a difference (%s), and there is none", why)
			case known:
				settled++
			case err != nil:
				t.Errorf("%s\n%v\n(%s)", c.Operation, err, c.Notes)
			default:
				passed++
			}
		})
	}
	t.Logf("%d cases: %d as in Kafka Streams, %d differ on purpose, %d pending", len(all), passed, settled, sum(pending))
	checkPending(t, pending)
}

// checkPending holds the list of operations that are not built yet to what is so: it must shrink.
func checkPending(t *testing.T, found map[string]int) {
	var names []string
	for op, n := range found {
		names = append(names, op)
		t.Logf("pending: %3d × %s", n, op)
	}
	sort.Strings(names)
	listed := slices.Sorted(slices.Values(pendingOperations()))
	for _, op := range names {
		if !slices.Contains(listed, op) {
			t.Errorf("operation %q is not built, and is not in pendingOperations", op)
		}
	}
	for _, op := range listed {
		if !slices.Contains(names, op) {
			t.Errorf("operation %q is built: take it out of pendingOperations", op)
		}
	}
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// TestDifferencesAreWrittenDown finds entries of differences that no case has, and such as docs/semantics.md does not speak of.
func TestDifferencesAreWrittenDown(t *testing.T) {
	names := map[string]bool{}
	for _, c := range load(t) {
		names[c.Name] = true
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "semantics.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range differences() {
		if !names[name] {
			t.Errorf("differences has %q, which is no case", name)
		}
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/semantics.md does not name %s", name)
		}
	}
}
