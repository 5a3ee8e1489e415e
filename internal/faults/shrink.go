package faults

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// calls are what a script names, in the order of kinds and numbers.
func (s Script) calls() []Call {
	return slices.SortedFunc(maps.Keys(s), func(a, b Call) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.K, b.K)) })
}

// Shrink leaves out of a script that fails what it fails without: halves of it first, then less and less, at last line by line until none
// can be missed.
func Shrink(s Script, fails func(Script) bool) Script {
	for size := max(1, len(s)/2); ; size = max(1, size/2) {
		shorter := false
		for calls := range slices.Chunk(s.calls(), size) {
			without := maps.Clone(s)
			for _, c := range calls {
				delete(without, c)
			}
			if len(without) < len(s) && fails(without) {
				s, shorter = without, true
			}
		}
		if size == 1 && !shorter {
			return s
		}
	}
}

// Keep writes a script that fails into a folder of scripts, with what it is as a comment, and returns the file's path.
func (s Script) Keep(dir, name, comment string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+".txt")
	text := "# " + strings.ReplaceAll(strings.TrimSpace(comment), "\n", "\n# ") + "\n" + s.String()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("faults: keeping a script: %w", err)
	}
	return path, nil
}
