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
		endtxn 5 pass=2m30s clean
		produce 3 cut=12
		produce 4 cut=40s
		fetch 2 mute=3
		fetch 3 mute=1m30s`
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
		{faults.Produce, 3}:      {Cut: faults.Cut{Requests: 12}},
		{faults.Produce, 4}:      {Cut: faults.Cut{For: 40 * time.Second}},
		{faults.Fetch, 2}:        {Cut: faults.Cut{Answers: true, Requests: 3}},
		{faults.Fetch, 3}:        {Cut: faults.Cut{Answers: true, For: 90 * time.Second}},
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
		"endtxn 1 cut":            `"cut"`,
		"endtxn 1 mute=-1s":       `"mute=-1s"`,
		"endtxn 1 refuse=nothing": `"nothing"`,
	} {
		if _, err := faults.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want an error with %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("endtxn 3 lose\nmarker 7 after=12")
	f.Add("fetch 3 cut=7\nfetch 9 mute=1m")
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

// A client that is cut off is, whatever it asks for and however often it is started; nobody else is.
func TestCutHeals(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]struct {
		fate  faults.Fate
		lasts int
	}{
		"produce 2 cut=3":    {faults.Fate{Drop: true, Parted: true}, 4},
		"produce 2 mute=3":   {faults.Fate{Lose: true, Parted: true}, 4},
		"produce 2 cut=10s":  {faults.Fate{Drop: true, Parted: true}, 10},
		"produce 2 mute=10s": {faults.Fate{Lose: true, Parted: true}, 10},
	} {
		t.Run(text, func(t *testing.T) {
			s, err := faults.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			j, lost := s.Judge(), 0
			for second := range 20 { // a request of each each second
				at := began.Add(time.Duration(second) * time.Second)
				f := j.Judge(faults.Request{Kind: faults.Produce, Client: "a", Time: at})
				f.Cut = faults.Cut{}
				if f != (faults.Fate{}) && f != want.fate {
					t.Fatalf("second %d: %+v, want %+v", second, f, want.fate)
				}
				if f.Parted {
					lost++
				}
				for _, q := range []faults.Request{{Kind: faults.Fetch, Client: "b", Time: at}, {Kind: faults.Marker, Time: at}, {Kind: faults.Write, Client: "a", Time: at}} {
					if f := j.Judge(q); f != (faults.Fate{}) {
						t.Fatalf("second %d: %+v has fate %+v", second, q, f)
					}
				}
			}
			if lost != want.lasts {
				t.Errorf("%d requests were lost, want %d", lost, want.lasts)
			}
		})
	}
}
