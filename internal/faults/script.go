package faults

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/internal/wire"
)

// A Script names what goes wrong: the fate of the k-th request of a kind, counted from 1. Its text has a line for each,
//
//	endtxn 3 lose
//	marker 7 after=12
//	produce 1 refuse=refused
//	endtxn 5 pass=2m clean
//	fetch 9 cut=40s
//	produce 4 mute=12
//
// and is what a failing seed prints and testdata keeps. Empty lines and those that begin with # mean nothing. cut parts the request's
// client from the cluster so that its requests are lost, mute so that the answers are; a number is that of its further requests, a duration
// that of the cluster's clock.
type Script map[Call]Fate

// A Call is the k-th request of a kind.
type Call struct {
	Kind Kind
	K    int
}

// refusals are the answers that a script can name.
var refusals = map[string]error{
	"refused":    wire.ErrRefused,
	"fenced":     wire.ErrFenced,
	"generation": wire.ErrGeneration,
	"notopic":    wire.ErrNoTopic,
	"offset":     wire.ErrOffsetGone,
	"later":      errors.New("faults: try again"),
}

// Judge returns a judge that plays the script from its beginning.
func (s Script) Judge() Judge {
	var seen [kinds]int
	var cuts cuts
	return JudgeFunc(func(r Request) Fate {
		if f, cut := cuts.fate(r); cut {
			return f
		}
		seen[r.Kind]++
		return cuts.begin(r, s[Call{r.Kind, seen[r.Kind]}])
	})
}

// String is the script's text, in the order of kinds and numbers.
func (s Script) String() string {
	var text strings.Builder
	for _, c := range s.calls() {
		fmt.Fprintf(&text, "%s %d%s\n", c.Kind, c.K, s[c].words())
	}
	return text.String()
}

// words are a fate's part of a line.
func (f Fate) words() string {
	var text strings.Builder
	flag := func(set bool, word string) {
		if set {
			text.WriteString(" " + word)
		}
	}
	flag(f.Pass > 0, "pass="+f.Pass.String())
	flag(f.Clean, "clean")
	flag(f.Kill, "kill")
	if f.Refuse != nil {
		text.WriteString(" refuse=" + refusal(f.Refuse))
	}
	flag(f.Drop, "drop")
	flag(f.After > 0, "after="+strconv.Itoa(f.After))
	flag(f.Again > 0, "again="+strconv.Itoa(f.Again))
	flag(f.Lose, "lose")
	flag(f.KillDone, "killdone")
	flag(f.Cut != Cut{}, f.Cut.word())
	return text.String()
}

func (c Cut) word() string {
	name := "cut"
	if c.Answers {
		name = "mute"
	}
	if c.For > 0 {
		return name + "=" + c.For.String()
	}
	return name + "=" + strconv.Itoa(c.Requests)
}

func refusal(err error) string {
	for _, name := range slices.Sorted(maps.Keys(refusals)) {
		if errors.Is(err, refusals[name]) {
			return name
		}
	}
	return "later"
}

// Parse reads a script's text.
func Parse(text string) (Script, error) {
	s := Script{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		call, fate, err := parseLine(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("faults: line %d %q: %w", i+1, line, err)
		}
		s[call] = fate
	}
	return s, nil
}

func parseLine(words []string) (c Call, f Fate, err error) {
	if len(words) < 3 {
		return c, f, errors.New("want a kind, a number and what becomes of it")
	}
	kind := slices.Index(kindNames[:], words[0])
	if kind < 0 {
		return c, f, fmt.Errorf("no kind of request is called %q", words[0])
	}
	c.Kind = Kind(kind)
	if c.K, err = strconv.Atoi(words[1]); err != nil || c.K < 1 {
		return c, f, fmt.Errorf("%q is not a number of a request", words[1])
	}
	for _, w := range words[2:] {
		if err := f.set(w); err != nil {
			return c, f, err
		}
	}
	return c, f, nil
}

// set is the inverse of words, one word at a time.
func (f *Fate) set(word string) error {
	name, arg, _ := strings.Cut(word, "=")
	switch name {
	case "pass":
		d, err := time.ParseDuration(arg)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q wants a duration", word)
		}
		f.Pass = d
	case "clean":
		f.Clean = true
	case "kill":
		f.Kill = true
	case "killdone":
		f.KillDone = true
	case "drop":
		f.Drop = true
	case "lose":
		f.Lose = true
	case "refuse":
		if f.Refuse = refusals[arg]; f.Refuse == nil {
			return fmt.Errorf("no refusal is called %q", arg)
		}
	case "cut", "mute":
		c := Cut{Answers: name == "mute"}
		var err error
		if c.Requests, err = strconv.Atoi(arg); err != nil {
			c.Requests = 0
			c.For, err = time.ParseDuration(arg)
		}
		if err != nil || c.Requests < 1 && c.For <= 0 {
			return fmt.Errorf("%q wants a number of requests or a duration", word)
		}
		f.Cut = c
	case "after", "again":
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return fmt.Errorf("%q wants a number of requests", word)
		}
		if name == "after" {
			f.After = n
		} else {
			f.Again = n
		}
	default:
		return fmt.Errorf("no fate is called %q", word)
	}
	return nil
}
