package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What docs/benchmarks.md shows is what benchmarks/results says.
func TestPageShowsTheResults(t *testing.T) {
	root, err := checkout()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "docs", "benchmarks.md")
	want, err := page(root, path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/benchmarks.md is not what the results say: run go run ./cmd/weirbench report in benchmarks")
	}
}

// Every step of the plan names a suite that exists, and each of its results has a place on the page.
func TestPlanIsWhole(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range plan {
		if seen[s.name] || s.took <= 0 || !slices.Contains(order, s.name) {
			t.Errorf("step %+v", s)
		}
		seen[s.name] = true
	}
}
