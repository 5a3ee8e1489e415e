package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRulesNameTestsThatExist: docs/rules.md says which test guards a rule, and a test that was renamed or taken out guards nothing.
func TestRulesNameTestsThatExist(t *testing.T) {
	exist := map[string]bool{}
	for _, f := range tree(t) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") {
				exist[fn.Name.Name] = true
			}
		}
	}
	for _, doc := range []string{"rules.md", "internals.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", doc))
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1)
		if len(named) == 0 {
			t.Errorf("%s names no test", doc)
		}
		for _, m := range named {
			if !exist[m[1]] {
				t.Errorf("docs/%s names %s, which there is not", doc, m[1])
			}
		}
	}
}
