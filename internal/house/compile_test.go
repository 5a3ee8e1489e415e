package house

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The compiler makes the operators' bodies for every pair of types in the user's build. TestCompileTime compiles a chain of 50 operators
// over 12 value types and the same chain over one, prints the processor time of each, and fails when many types cost more than twice
// as much as one and more than twice the budget.
func TestCompileTime(t *testing.T) {
	if os.Getenv("WEIR_COMPILE") == "" {
		t.Skip("SKIPPED: set WEIR_COMPILE=1 to measure the compiler, which a busy machine does badly")
	}
	one, many := compile(t, chain(50, 1)), compile(t, chain(50, 12))
	t.Logf("50 operators: %v over one type, %v over 12 types", one, many)
	const budget = time.Second
	if many > 2*budget && many > 2*one {
		t.Errorf("12 types cost %v, one type %v: more than twice, and more than twice the budget of %v", many, one, budget)
	}
}

// chain is a program of n operators whose values have one type after the other.
func chain(n, types int) string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"github.com/weirstream/weir/connector/kafka\"\n\t\"github.com/weirstream/weir/serde\"\n\t\"github.com/weirstream/weir/stream\"\n)\n\n")
	for i := range types {
		fmt.Fprintf(&b, "type T%d struct{ A, B%d int64 }\n", i, i)
	}
	b.WriteString("\nfunc main() {\n\tb := stream.New(\"chain\")\n\ts0 := b.Source(kafka.Source(\"in\", serde.String, serde.JSON[T0]()))\n")
	for i := range n {
		from, to := i%types, (i+1)%types
		fmt.Fprintf(&b, "\ts%d := s%d.", i+1, i)
		switch i % 5 {
		case 0, 1:
			fmt.Fprintf(&b, "MapValues(func(v T%d) T%d { return T%d{A: v.A} })\n", from, to, to)
		case 2:
			fmt.Fprintf(&b, "TryMapValues(func(v T%d) (T%d, error) { return T%d{A: v.A}, nil })\n", from, to, to)
		case 3:
			fmt.Fprintf(&b, "Map(func(k string, v T%d) (string, T%d) { return k, T%d{A: v.A} })\n", from, to, to)
		case 4:
			fmt.Fprintf(&b, "TransformValues(func(r stream.Record[string, T%d]) (T%d, error) { return T%d{A: r.Value.A}, nil })\n", from, to, to)
		}
	}
	fmt.Fprintf(&b, "\ts%d.To(kafka.Sink(\"out\", serde.String, serde.JSON[T%d]()))\n}\n", n, n%types)
	return b.String()
}

// compile is the processor time that compiling a program takes, without that of what it imports and of the go command.
func compile(t *testing.T, program string) time.Duration {
	t.Helper()
	dir := t.TempDir()             // the same for all, because a path is part of what is compiled
	build(t, dir, program)         // with all that it imports
	idle := build(t, dir, program) // nothing is left to do
	best := time.Duration(0)
	for i := range 2 {
		took := build(t, dir, program+fmt.Sprintf("\n// %d %d\n", i, time.Now().UnixNano())) - idle
		if best == 0 || took < best {
			best = took
		}
	}
	return best
}

// build compiles the program in the place of testdata/compile and returns the processor time of it all.
func build(t *testing.T, dir, program string) time.Duration {
	t.Helper()
	place, err := filepath.Abs(filepath.Join("testdata", "compile", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	file, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {place: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{file: []byte(program), overlay: text} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", "list", "-export", "-overlay", overlay, "-f", "{{.Export}}", "./testdata/compile")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, program)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}
