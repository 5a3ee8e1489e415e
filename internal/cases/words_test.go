package cases

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/window"
)

// An expression is a sum in words: agg + "+" + value. Its terms are names, texts, numbers and int(name).
type expression struct {
	terms   []string
	numeric bool // it adds, it does not concatenate
	text    bool // numbers become texts when they are put together
}

// parse reads an expression; a remark behind a semicolon or in parentheses at the end says how it is meant.
func parse(words string) (expression, error) {
	words, _, _ = strings.Cut(words, ";")
	words = strings.TrimSpace(words)
	var e expression
	if m := remark.FindStringSubmatch(words); m != nil {
		words = m[1]
		e.numeric = m[2] == "integers"
	}
	for _, t := range strings.Split(words, " + ") {
		if t = strings.TrimSpace(t); !term.MatchString(t) {
			return e, fmt.Errorf("%q is not understood in %q", t, words)
		}
		e.terms = append(e.terms, t)
		e.text = e.text || t[0] == '"'
	}
	return e, nil
}

var (
	remark = regexp.MustCompile(`^(.*?) \(([a-z ]+)\)$`)
	term   = regexp.MustCompile(`^("[^"]*"|[a-z]+|[0-9]+|int\([a-z]+\))$`)
)

// eval puts values in the place of names. Numbers add up where the expression says integers, or has no text and only numbers.
func (e expression) eval(values map[string]value) value {
	var parts []value
	numbers := true
	for _, t := range e.terms {
		var v value
		switch inner, isInt := strings.CutPrefix(t, "int("); {
		case isInt:
			v = number(values[strings.TrimSuffix(inner, ")")].int())
		case t[0] == '"':
			v = value(t)
		case t[0] >= '0' && t[0] <= '9':
			v = value(t)
		default:
			known := false
			if v, known = values[t]; !known {
				panic(fmt.Sprintf("nothing is called %q", t))
			}
		}
		parts = append(parts, v)
		numbers = numbers && v != "" && !v.isText()
	}
	if e.numeric || numbers && !e.text {
		var n int64
		for _, v := range parts {
			n += v.int()
		}
		return number(n)
	}
	var b strings.Builder
	for _, v := range parts {
		b.WriteString(v.String())
	}
	return text(b.String())
}

// A fold is an aggregation in words.
type fold struct {
	count  bool
	reduce func(a, b value) value
	init   value
	add    map[string]func(agg, v value) value // by side; "" is every side
}

// of is the aggregator of a side.
func (f *fold) of(side string) func(value, value, value) value {
	add := f.add[side]
	if add == nil {
		add = f.add[""]
	}
	return func(_, v, agg value) value { return add(agg, v) }
}

// parseFold reads an aggregation.
func parseFold(words string) (*fold, error) {
	if words == "count" {
		return &fold{count: true}, nil
	}
	if expr, ok := strings.CutPrefix(words, "reduce: "); ok {
		f, err := combine(expr)
		return &fold{reduce: f}, err
	}
	m := folds.FindStringSubmatch(words)
	if m == nil {
		return nil, fmt.Errorf("the aggregation %q is not understood", words)
	}
	f := &fold{init: value(m[1]), add: map[string]func(agg, v value) value{}}
	for _, part := range strings.Split(m[2], "; ") {
		side, expr := "", part
		switch {
		case strings.HasPrefix(part, "new = "):
			expr = strings.TrimPrefix(part, "new = ")
		case strings.HasPrefix(part, "every side: "):
			expr = strings.TrimPrefix(part, "every side: ")
		default:
			name, rest, ok := strings.Cut(strings.TrimPrefix(part, "side "), ": ")
			if !ok {
				return nil, fmt.Errorf("%q is not understood in %q", part, words)
			}
			side, expr = name, rest
		}
		if expr == "letters of (agg + value) sorted" {
			f.add[side] = sortedLetters
			continue
		}
		e, err := parse(expr)
		if err != nil {
			return nil, err
		}
		f.add[side] = func(agg, v value) value { return e.eval(map[string]value{"agg": agg, "value": v}) }
	}
	return f, nil
}

var folds = regexp.MustCompile(`^(?:init|initializer) ("[^"]*"|[0-9]+); (.*)$`)

func sortedLetters(agg, v value) value {
	b := []byte(agg.String() + v.String())
	slices.Sort(b)
	return text(string(b))
}

// combine reads what makes one value of two, a and b.
func combine(words string) (func(a, b value) value, error) {
	if words == "a - b" {
		return func(a, b value) value { return number(a.int() - b.int()) }, nil
	}
	e, err := parse(words)
	if err != nil {
		return nil, err
	}
	return func(a, b value) value { return e.eval(map[string]value{"a": a, "b": b}) }, nil
}

// withKey is a joiner that looks at the key, which ours do not: the key is put in front afterwards.
const withKey = `key + ":" + (left + (right or 0))`

// joiner reads what makes one value of two sides; an absent side is "".
func joiner(words string) (func(left, right value) value, error) {
	if words == withKey {
		return func(left, right value) value {
			if right == "" {
				right = "0"
			}
			return number(left.int() + right.int())
		}, nil
	}
	e, err := parse(words)
	if err != nil {
		return nil, err
	}
	return func(left, right value) value { return e.eval(map[string]value{"left": left, "right": right}) }, nil
}

// ms is a duration.
func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// spec is a window of clock times.
func (w *windowParams) spec() (window.Spec, error) {
	var s window.Spec
	switch w.Type {
	case "tumbling":
		s = window.Tumbling(ms(w.Size))
	case "hopping":
		s = window.Hopping(ms(w.Size), ms(w.Advance))
	case "sliding":
		s = window.Sliding(ms(w.Difference))
	case "unlimited":
		s = window.Unlimited(time.UnixMilli(w.Start))
	default:
		return s, fmt.Errorf("the window %q is not known", w.Type)
	}
	return s.Grace(ms(w.Grace)), nil
}

// session is a window of pauses.
func (w *windowParams) session() window.SessionSpec {
	return window.Session(ms(w.Gap)).Grace(ms(w.Grace))
}

// TestExpressions checks the words that all cases rest on.
func TestExpressions(t *testing.T) {
	for _, c := range []struct{ words, left, right, want string }{
		{`left + "-" + right; an absent side is rendered as "null"`, `"A"`, ``, `"A-null"`},
		{`"(" + left + "," + right + ")"`, `"1"`, `"2"`, `"(1,2)"`},
		{`left + right (integers)`, `1`, `2`, `3`},
		{`left + right (texts)`, `"1"`, `"2"`, `"12"`},
		{`left + "+" + right (right values are integers rendered in decimal)`, `"A0"`, `10`, `"A0+10"`},
		{withKey, `3`, ``, `3`},
	} {
		f, err := joiner(c.words)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := f(value(c.left), value(c.right)); string(got) != c.want {
			t.Errorf("%s of %s and %s: got %s, want %s", c.words, c.left, c.right, got, c.want)
		}
	}
	if _, err := joiner("left * right"); err == nil {
		t.Error("left * right was understood")
	}
}
