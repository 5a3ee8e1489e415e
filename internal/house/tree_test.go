package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/weirstream/weir"

// A file is one parsed Go file of the main module.
type file struct {
	path    string // from the root, with slashes
	folder  string // "" for the root
	test    bool   // _test.go
	lines   int
	imports []string
	syntax  *ast.File
	set     *token.FileSet
}

func (f *file) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
}

// under says whether the file lies in folder or below it.
func (f *file) under(folder string) bool {
	return f.folder == folder || strings.HasPrefix(f.folder, folder+"/")
}

// kit says whether the file is part of a conformance kit or of tools for tests, such as wiretest: a test that others run.
func (f *file) kit() bool { return strings.HasSuffix(f.folder, "test") }

// files parses the main module once. Folders with a go.mod of their own are other modules.
var files = sync.OnceValues(func() ([]*file, error) {
	const root = "../.."
	var all []*file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(rel, p)
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		f, err := parse(filepath.ToSlash(rel), p)
		all = append(all, f)
		return err
	})
	return all, err
})

func skip(rel, p string) error {
	if rel == "." {
		return nil
	}
	if name := filepath.Base(rel); strings.HasPrefix(name, ".") || name == "testdata" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func parse(rel, p string) (*file, error) {
	source, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	f := &file{path: rel, test: strings.HasSuffix(rel, "_test.go"), lines: strings.Count(string(source), "\n"), set: token.NewFileSet()}
	if f.folder = path.Dir(rel); f.folder == "." {
		f.folder = ""
	}
	f.syntax, err = parser.ParseFile(f.set, p, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, i := range f.syntax.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// tree returns the files, which are enough for a module that was found at all.
func tree(t *testing.T) []*file {
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found only %d files: is this the repository?", len(all))
	}
	return all
}
