package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestStallsBehindAnOffset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	before := "stall 99.000\n"
	if err := os.WriteFile(path, []byte(before+"goroutines 12\nstall 3.500\nstall 1.250\nstall 7"), 0o644); err != nil {
		t.Fatal(err)
	}
	ms, end, err := stalls(path, int64(len(before)))
	if err != nil || !slices.Equal(ms, []float64{1.25, 3.5}) || end != int64(len(before)+14+12+12) {
		t.Fatalf("stalls %v up to %d: %v; the line that is not whole belongs to the next", ms, end, err)
	}
	if ms, _, err := stalls(path, end); err != nil || len(ms) != 0 {
		t.Errorf("behind the end: %v, %v", ms, err)
	}
}

func TestPercentile(t *testing.T) {
	var values []float64
	for i := range 200 {
		values = append(values, float64(i+1))
	}
	if p50, p99, all := percentile(values, 50), percentile(values, 99), percentile(values, 100); p50 != 100 || p99 != 198 || all != 200 {
		t.Errorf("of 1 to 200: %v, %v, %v", p50, p99, all)
	}
}
