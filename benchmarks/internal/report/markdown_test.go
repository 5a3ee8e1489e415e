package report

import (
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	s := suite(t)
	s.Groups = s.Groups[:1]
	s.Groups[0].Rows[0].Runs[0].More = map[string]float64{"p50 ms": 12, "seconds": 7}
	s.Groups[0].Rows = append(s.Groups[0].Rows, Row{System: "broken", Failed: "wrong results"})
	var out strings.Builder
	s.Markdown(&out, "charts")
	for _, want := range []string{
		"![Clients <&>](charts/kafka.svg)", "| p50 ms |", "| sarama | 1,200 | 1,200 – 1,200 | 4.00 | 900,000 |", "| broken | no figure |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "| seconds |") {
		t.Error("a figure for programs is shown")
	}
}

func TestReplace(t *testing.T) {
	page, err := Replace("before\n"+Begin+"\nold\n"+End+"\nafter\n", "new\n")
	if want := "before\n" + Begin + "\n\nnew\n\n" + End + "\nafter\n"; err != nil || page != want {
		t.Errorf("%q, %v", page, err)
	}
	if _, err := Replace("before\n"+Begin+"\nold\n", "new"); err == nil {
		t.Error("a page without an end was written")
	}
}

func TestReadFollowsTheOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		s := suite(t)
		s.Name = name
		if err := s.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Read(dir, []string{"c", "b"})
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, s := range all {
		names += s.Name
	}
	if names != "cba" {
		t.Errorf("order %s, want cba", names)
	}
}

func TestBars(t *testing.T) {
	s := &Suite{Name: "peers", Groups: []Group{
		{Name: "pass, exactly-once", Rows: []Row{{System: "weir", Runs: []Run{{Cost: 100}}}, {System: "slow", Runs: []Run{{Cost: 450}}}, {System: "failed", Failed: "no"}}},
		{Name: "calm, exactly-once", Rows: []Row{{System: "weir", Runs: []Run{{Cost: 60}}}}},
	}}
	var out strings.Builder
	Bars(&out, []*Suite{s}, []Bar{
		{Goal: "four", Suite: "peers", Group: "pass, exactly-once", Other: "slow", Times: 4},
		{Goal: "five", Suite: "peers", Group: "pass", Other: "slow", Times: 5},
		{Goal: "own", Suite: "peers", Group: "pass", Most: 99},
		{Goal: "above", Suite: "peers", Group: "pass", Above: "calm", Most: 40},
		{Goal: "above by less", Suite: "peers", Group: "pass", Above: "calm", Most: 39},
		{Goal: "above what is absent", Suite: "peers", Group: "pass", Above: "storm", Most: 39},
		{Goal: "below one", Suite: "peers", Group: "calm", Other: "weir", Base: "pass", Times: 0.6},
		{Goal: "failed", Suite: "peers", Group: "pass", Other: "failed", Times: 1},
		{Goal: "absent", Suite: "other", Group: "pass", Other: "slow", Times: 1},
	})
	for _, want := range []string{"| four | 4.5× | met |", "| five | 4.5× | **missed** |", "| own | 100 | **missed** |",
		"| above | 40.0 | met |", "| above by less | 40.0 | **missed** |", "| above what is absent | not measured |", "| below one | 0.60× | met |",
		"| failed | not measured |", "| absent | not measured |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
