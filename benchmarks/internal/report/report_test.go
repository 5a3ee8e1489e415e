package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const bench = `goos: linux
BenchmarkRead/weir-2     	 100	 250.0 ns/op	 310 cpu-ns/rec	 4000000 rec/s	 0 allocs/op
BenchmarkRead/sarama-2   	 100	 990.0 ns/op	1200 cpu-ns/rec	 900000 rec/s	 3 allocs/op
BenchmarkRead/weir-2     	 100	 250.0 ns/op	 290 cpu-ns/rec	 4000000 rec/s	 0 allocs/op
BenchmarkChain/ops=3/weir-2  1	 17.5 ns/op
BenchmarkLone  1	 12.5 ns/op
PASS
`

func suite(t *testing.T) *Suite {
	t.Helper()
	groups, err := ReadGoBench(strings.NewReader(bench), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return &Suite{Name: "kafka", Title: "Clients <&>", Machine: Machine{CPU: "test", Cores: 2, Commit: "abc"}, Groups: groups}
}

func TestReadGoBench(t *testing.T) {
	s := suite(t)
	if len(s.Groups) != 3 || s.Groups[1].Name != "Chain/ops=3" || s.Groups[2].Rows[0].System != "weir" {
		t.Fatalf("groups: %+v", s.Groups)
	}
	read := s.Groups[0]
	if read.Unit != "cpu-ns/rec" || len(read.Rows) != 2 {
		t.Fatalf("read: %+v", read)
	}
	if got := read.Rows[0].Cost(); got != (Spread{Median: 300, Min: 290, Max: 310}) {
		t.Errorf("weir's cost: %+v", got)
	}
}

func TestTable(t *testing.T) {
	s := suite(t)
	s.Groups[0].Rows = append(s.Groups[0].Rows, Row{System: "broken", Failed: "3 records came out twice"})
	var out strings.Builder
	s.Print(&out)
	for _, want := range []string{"4.00", "1,200", "broken: NO FIGURE: 3 records came out twice", "4,000,000"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestChartIsWellFormed(t *testing.T) {
	dir := t.TempDir()
	if err := suite(t).Write(dir); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "kafka.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(svg), "(4.0×)") {
		t.Errorf("the chart lacks sarama's ratio:\n%s", svg)
	}
}
