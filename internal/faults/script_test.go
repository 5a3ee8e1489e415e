package faults_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/faults"
	"github.com/weirstream/weir/internal/wire"
)

func TestScriptReadsWhatItPrints(t *testing.T) {
	text := `# the commit's answer is lost, and a marker comes late

		endtxn 3 lose
		produce 1 refuse=refused
		marker 7 after=12
		produce 2 again=4 killdone
		init 1 kill
		fetch 1 drop
		endtxn 5 pass=2m30s clean`
	s, err := faults.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := faults.Script{
		{faults.EndTxn, 3}:       {Lose: true},
		{faults.Produce, 1}:      {Refuse: wire.ErrRefused},
		{faults.Marker, 7}:       {After: 12},
		{faults.Produce, 2}:      {Again: 4, KillDone: true},
		{faults.InitProducer, 1}: {Kill: true},
		{faults.Fetch, 1}:        {Drop: true},
		{faults.EndTxn, 5}:       {Pass: 150 * time.Second, Clean: true},
	}
	if !maps.Equal(s, want) {
		t.Errorf("parsed %v, want %v", s, want)
	}
	again, err := faults.Parse(s.String())
	if err != nil || !maps.Equal(again, s) {
		t.Errorf("parsed again %v (%v), want %v", again, err, s)
	}
}

func TestScriptSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"endtxn 3":                "line 1",
		"\nendtx 3 lose":          "line 2",
		"endtxn 0 lose":           `"0" is not a number`,
		"endtxn x lose":           `"x" is not a number`,
		"endtxn 1 loose":          `"loose"`,
		"endtxn 1 after":          `"after"`,
		"endtxn 1 again=0":        `"again=0"`,
		"endtxn 1 pass=-1s":       `"pass=-1s"`,
		"endtxn 1 refuse=nothing": `"nothing"`,
	} {
		if _, err := faults.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want an error with %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("endtxn 3 lose\nmarker 7 after=12")
	f.Add("# nothing\n\nproduce 1 refuse=later again=1")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := faults.Parse(text)
		if err != nil {
			return
		}
		again, err := faults.Parse(s.String())
		if err != nil {
			t.Fatalf("%q became %q, which is not parsed: %v", text, s.String(), err)
		}
		if again.String() != s.String() {
			t.Fatalf("%q became %q and then %q", text, s.String(), again.String())
		}
	})
}

func TestScriptPlays(t *testing.T) {
	s := faults.Script{{faults.EndTxn, 2}: {Lose: true}}
	for range 2 { // a judge begins at the beginning
		j := s.Judge()
		for i, want := range []bool{false, true, false} {
			j.Judge(faults.Request{Kind: faults.Produce})
			if got := j.Judge(faults.Request{Kind: faults.EndTxn}).Lose; got != want {
				t.Errorf("request %d is lost: %v, want %v", i+1, got, want)
			}
		}
	}
}

func TestRandomIsItsScript(t *testing.T) {
	r := faults.NewRandom(faults.Plan{Seed: 7, Kills: []int{150}})
	var drawn []faults.Fate
	requests := func(ask func(faults.Request, int)) {
		for i := range 200 {
			ask(faults.Request{Kind: faults.Kind(i % 9)}, i)
		}
	}
	requests(func(q faults.Request, _ int) { drawn = append(drawn, r.Judge(q)) })
	if len(r.Script()) < 10 {
		t.Fatalf("only %d of 200 requests had a fate", len(r.Script()))
	}
	again, played := faults.NewRandom(faults.Plan{Seed: 7, Kills: []int{150}}), r.Script().Judge()
	requests(func(q faults.Request, i int) {
		if a, b := again.Judge(q), played.Judge(q); a != drawn[i] || b != drawn[i] {
			t.Fatalf("request %d: drew %+v, then %+v, and the script plays %+v", i, drawn[i], a, b)
		}
	})
	if !strings.Contains(r.Script().String(), "kill") {
		t.Errorf("nothing was killed:\n%s", r)
	}
}

func TestQuietBeforeAndAfter(t *testing.T) {
	r := faults.NewRandom(faults.Plan{Seed: 1, Odds: map[faults.Kind]faults.Odds{faults.Produce: {Drop: 1000}}, First: 3, Last: 5})
	var lost []int
	for i := range 8 {
		if r.Judge(faults.Request{Kind: faults.Produce}).Drop {
			lost = append(lost, i+1)
		}
	}
	if len(lost) != 3 || lost[0] != 3 || lost[2] != 5 {
		t.Errorf("requests %v were lost, want 3 to 5", lost)
	}
}

func TestShrink(t *testing.T) {
	s := faults.Script{}
	for k := range 20 {
		s[faults.Call{Kind: faults.Produce, K: k + 1}] = faults.Fate{Lose: true}
	}
	guilty := []faults.Call{{Kind: faults.Produce, K: 4}, {Kind: faults.Produce, K: 17}}
	got := faults.Shrink(s, func(s faults.Script) bool {
		return s[guilty[0]].Lose && s[guilty[1]].Lose
	})
	if len(got) != 2 || !got[guilty[0]].Lose || !got[guilty[1]].Lose {
		t.Errorf("shrunk to\n%s", got)
	}
}
