package house

import (
	"go/ast"
	"go/token"
	"maps"
	"testing"
)

// Apps of one process share nothing: no package-level variable changes after its declaration, none holds a lock, and no
// init function registers anything. Found are assignments, ++ and --, writes into a map or slice, and addresses taken.
func TestNothingGlobalChanges(t *testing.T) {
	packages := make(map[string][]*file)
	for _, f := range tree(t) {
		if !f.test && !f.kit() && !f.under("examples") {
			packages[f.folder] = append(packages[f.folder], f)
		}
	}
	for _, group := range packages {
		globals := make(map[string]bool)
		for _, f := range group {
			maps.Copy(globals, declared(t, f))
		}
		for _, f := range group {
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					checkFunc(t, f, fn, globals)
				}
			}
		}
	}
}

// declared collects a file's package-level variables and refuses locks and atomics among them.
func declared(t *testing.T, f *file) map[string]bool {
	names := make(map[string]bool)
	for _, d := range f.syntax.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if sel, ok := v.Type.(*ast.SelectorExpr); ok && (ident(sel.X) == "sync" || ident(sel.X) == "atomic") && sel.Sel.Name != "Pool" {
				t.Errorf("%s: a package-level %s.%s is shared state: give it an owner", f.at(v), ident(sel.X), sel.Sel.Name)
			}
			for _, n := range v.Names {
				names[n.Name] = n.Name != "_"
			}
		}
	}
	return names
}

func checkFunc(t *testing.T, f *file, fn *ast.FuncDecl, globals map[string]bool) {
	if fn.Recv == nil && fn.Name.Name == "init" {
		t.Errorf("%s: an init function hides a registration: let the program say what it uses", f.at(fn))
	}
	if fn.Body == nil {
		return
	}
	// A name that the function declares for itself hides the global one: the parser resolves it to a place inside.
	global := func(e ast.Expr) bool {
		i, ok := root(e).(*ast.Ident)
		return ok && globals[i.Name] && (i.Obj == nil || i.Obj.Pos() < fn.Pos() || i.Obj.Pos() >= fn.End())
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if n.Tok != token.DEFINE && global(left) {
					t.Errorf("%s assigns to a package-level variable: pass it, or give it an owner", f.at(n))
				}
			}
		case *ast.IncDecStmt:
			if global(n.X) {
				t.Errorf("%s counts in a package-level variable: pass it, or give it an owner", f.at(n))
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND && global(n.X) {
				if _, composite := n.X.(*ast.CompositeLit); !composite {
					t.Errorf("%s takes the address of a package-level variable: whoever gets it can change it", f.at(n))
				}
			}
		}
		return true
	})
}

// root strips selectors, indices, stars and parentheses.
func root(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return e
		}
	}
}
