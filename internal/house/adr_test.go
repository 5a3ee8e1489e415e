package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A decision is named by its number, in code and in other decisions: two must not share one, and the title has to say the same as the file.
func TestDecisionsHaveNumbersOfTheirOwn(t *testing.T) {
	paths, err := filepath.Glob("../../docs/adr/[0-9]*.md")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d decisions, %v", len(paths), err)
	}
	title := regexp.MustCompile(`^# 0*(\d+)\. `)
	had := map[string]string{}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Base(p)
		number := strings.TrimLeft(file[:4], "0")
		if other := had[number]; other != "" {
			t.Errorf("%s and %s have one number", other, file)
		}
		had[number] = file
		if m := title.FindSubmatch(text); m == nil || string(m[1]) != number {
			t.Errorf("%s begins with %.40q, want # %s. and a title", file, text, number)
		}
	}
}
