package house

import (
	"go/ast"
	"slices"
	"testing"
)

// pure packages have no clock, no goroutine and no I/O: records, barriers and times come in, effects go out. That is what
// makes a crash or a race in them a unit test.
var pure = []string{"internal/task", "internal/topology", "internal/overlay", "internal/span", "window"}

// clocks are the functions of package time that read or wait for the wall clock.
var clocks = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true}

func TestTheCoreIsPure(t *testing.T) {
	forbidden := map[string]bool{"os": true, "net": true, "net/http": true, "math/rand": true, "math/rand/v2": true}
	for _, f := range tree(t) {
		if f.test || !inAny(f, pure) {
			continue
		}
		for _, i := range f.imports {
			if forbidden[i] {
				t.Errorf("%s imports %s: %s takes what it needs from its caller", f.path, i, f.folder)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine: they belong to internal/engine and the connectors", f.at(n))
			case *ast.SelectorExpr:
				if ident(n.X) == "time" && clocks[n.Sel.Name] {
					t.Errorf("%s uses time.%s: time comes in with the call", f.at(n), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// A test that sleeps is slow where it passes and flaky where the machine is busy. Inside a bubble of testing/synctest time is
// virtual, and sleeping costs nothing.
func TestTestsDoNotSleep(t *testing.T) {
	for _, f := range tree(t) {
		if !f.test && !f.kit() || slices.Contains(f.imports, "testing/synctest") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && ident(s.X) == "time" && s.Sel.Name == "Sleep" {
				t.Errorf("%s sleeps: wait for a fact (kafkatest's Await and Eventually, a channel) or use virtual time", f.at(s))
			}
			return true
		})
	}
}

func inAny(f *file, folders []string) bool {
	for _, folder := range folders {
		if f.under(folder) {
			return true
		}
	}
	return false
}

func ident(e ast.Expr) string {
	if i, ok := e.(*ast.Ident); ok {
		return i.Name
	}
	return ""
}
