package house

import (
	"cmp"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// Limits on what a reader has to hold in mind. They are ceilings, far above what is normal here: files of 100 to 300 lines,
// functions of 5 to 40.
const (
	maxLines     = 600
	maxTestLines = 900
	maxFunction  = 90
	maxExported  = 60
)

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	for _, f := range tree(t) {
		if limit := pick(f.test, maxTestLines, maxLines); f.lines > limit {
			t.Errorf("%s has %d lines, more than %d: it holds more than one subject", f.path, f.lines, limit)
		}
		if f.test || f.kit() {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line; n > maxFunction {
				t.Errorf("%s: %s has %d lines, more than %d", f.at(fn), fn.Name.Name, n, maxFunction)
			}
		}
	}
}

// manyNames are the packages whose subject is a list: the operators' options, the built-in serdes.
var manyNames = map[string]int{"stream": 200, "serde": 100}

// Names that say nothing about what a thing does.
var vague = regexp.MustCompile(`(Util|Utils|Manager|Helper|Impl|V2|Misc|Common)$`)

func TestNamesSaySomething(t *testing.T) {
	for _, f := range tree(t) {
		switch f.syntax.Name.Name {
		case "util", "utils", "common", "helpers", "misc", "base":
			t.Errorf("%s: package %s has no subject", f.path, f.syntax.Name.Name)
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && !f.test && vague.MatchString(s.Name.Name) {
				t.Errorf("%s: type %s: say what it does", f.at(s), s.Name.Name)
			}
			return true
		})
	}
}

func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	documented := make(map[string]bool)
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		name := f.syntax.Name.Name
		good := f.syntax.Doc != nil && (name == "main" || strings.HasPrefix(f.syntax.Doc.Text(), "Package "+name))
		documented[f.folder] = documented[f.folder] || good
	}
	for folder, good := range documented {
		if !good {
			t.Errorf("package %q has no package comment: purpose, invariants, what it is not for", folder)
		}
	}
}

func TestPublicPackagesStaySmall(t *testing.T) {
	exported := make(map[string]int)
	for _, f := range tree(t) {
		if f.test || strings.Contains(f.folder, "internal") || f.syntax.Name.Name == "main" {
			continue
		}
		for _, d := range f.syntax.Decls {
			exported[f.folder] += exportedIn(d)
		}
	}
	for folder, n := range exported {
		if limit := cmp.Or(manyNames[folder], maxExported); n > limit {
			t.Errorf("package %s exports %d names, more than %d", folder, n, limit)
		}
	}
}

// exportedIn counts top-level names; methods belong to their types, and an enumeration is one thing to learn.
func exportedIn(d ast.Decl) int {
	n := 0
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			n++
		}
	case *ast.GenDecl:
		if d.Tok == token.CONST && d.Lparen.IsValid() && enumeration(d) {
			return 1
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					n++
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						n++
					}
				}
			}
		}
	}
	return n
}

// enumeration reports whether a group of constants counts up from iota, as the values of one type do.
func enumeration(d *ast.GenDecl) bool {
	first := d.Specs[0].(*ast.ValueSpec)
	return first.Type != nil && len(first.Values) == 1 && ident(first.Values[0]) == "iota"
}

func pick(condition bool, yes, no int) int {
	if condition {
		return yes
	}
	return no
}
