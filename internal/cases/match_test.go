package cases

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A record is one that came out, or was expected.
type record struct {
	key    value
	window *windowSpan
	value  value // "" is a deletion
	old    *value
	ts     *int64 // nil: not asserted
	after  int    // the input behind which it came
}

func (r record) String() string {
	s := "key " + r.key.String()
	if r.window != nil {
		s += fmt.Sprintf("[%d,", r.window.Start)
		if r.window.End != nil {
			s += fmt.Sprint(*r.window.End)
		}
		s += ")"
	}
	s += " value " + r.value.String()
	if r.old != nil {
		s += " old " + r.old.String()
	}
	if r.ts != nil {
		s += fmt.Sprintf(" @%d", *r.ts)
	}
	return s
}

// id is the row that the record is of.
func (r record) id() string {
	id := string(r.key)
	if r.window != nil {
		id += fmt.Sprintf("@%d", r.window.Start)
		if r.window.End != nil {
			id += fmt.Sprintf("-%d", *r.window.End)
		}
	}
	return id
}

// is reports whether got is what r asks for: what it leaves open is free.
func (r record) is(got record) bool {
	return r.key == got.key && r.value == got.value &&
		(r.ts == nil || got.ts != nil && *r.ts == *got.ts) &&
		(r.window == nil || got.window != nil && r.window.is(*got.window)) &&
		(r.old == nil || got.old != nil && *r.old == *got.old)
}

func (w windowSpan) is(o windowSpan) bool {
	return w.Start == o.Start && (w.End == nil || o.End != nil && *w.End == *o.End)
}

// distinct leaves out what changes nothing of a table: repeats of a value, and deletions of rows that are not there.
func distinct(records []record) (out []record) {
	rows := map[string]value{}
	for _, r := range records {
		if id := r.id(); rows[id] != r.value { // a row that is not there has the value of a deletion
			rows[id] = r.value
			out = append(out, r)
		}
	}
	return out
}

// A mode compares what was expected with what came.
type mode struct {
	run   bool // over the whole run, not between checkpoints
	check func(want, got []record) error
}

// modes is every one of the format.
func modes() map[string]mode {
	return map[string]mode{
		"exact":                {check: exact},
		"prefix":               {check: prefix},
		"multiset":             {check: multiset},
		"superset":             {check: superset},
		"sorted_by_key_window": {check: sorted},
		"set":                  {check: set},
		"set_by_window":        {check: set},
		"map":                  {check: lastValues},
		"last_per_key":         {run: true, check: lastPerKey},
		"last_per_key_subset":  {run: true, check: lastPerKeySubset},
		"last":                 {run: true, check: last},
		"windows":              {check: windows},
		"punctuations":         {check: exact},
		"processing_order":     {run: true, check: exact},
		"none":                 {check: func(_, _ []record) error { return nil }},
	}
}

func exact(want, got []record) error {
	if len(want) != len(got) {
		return differ(want, got)
	}
	return prefix(want, got)
}

func prefix(want, got []record) error {
	if len(got) < len(want) {
		return differ(want, got)
	}
	for i := range want {
		if !want[i].is(got[i]) {
			return differ(want, got)
		}
	}
	return nil
}

func differ(want, got []record) error {
	return fmt.Errorf("want %s\n got %s", list(want), list(got))
}

func list(rs []record) string {
	if len(rs) == 0 {
		return "nothing"
	}
	var lines []string
	for _, r := range rs {
		lines = append(lines, r.String())
	}
	return strings.Join(lines, "\n     ")
}

// superset takes each expected record out of what came.
func superset(want, got []record) error {
	_, err := taken(want, got)
	return err
}

func multiset(want, got []record) error {
	left, err := taken(want, got)
	if err == nil && len(left) > 0 {
		return differ(want, got)
	}
	return err
}

func taken(want, got []record) (left []record, err error) {
	left = slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, w.is)
		if i < 0 {
			return left, differ(want, got)
		}
		left = slices.Delete(left, i, i+1)
	}
	return left, nil
}

func sorted(want, got []record) error {
	order := func(rs []record) []record {
		return slices.SortedStableFunc(slices.Values(rs), func(a, b record) int {
			if c := strings.Compare(string(a.key), string(b.key)); c != 0 || a.window == nil || b.window == nil {
				return c
			}
			return int(a.window.Start - b.window.Start)
		})
	}
	return exact(order(want), order(got))
}

// set compares distinct records, each with its window.
func set(want, got []record) error {
	for _, w := range want {
		if !slices.ContainsFunc(got, w.is) {
			return differ(want, got)
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, func(w record) bool { return w.is(g) }) {
			return differ(want, got)
		}
	}
	return nil
}

// latest is the last record per row, in the order in which the rows first came.
func latest(rs []record, id func(record) string) []record {
	at := map[string]int{}
	var out []record
	for _, r := range rs {
		if i, ok := at[id(r)]; ok {
			out[i] = r
			continue
		}
		at[id(r)] = len(out)
		out = append(out, r)
	}
	return out
}

func lastValues(want, got []record) error {
	plain := func(rs []record) map[value]value {
		m := map[value]value{}
		for _, r := range rs {
			m[r.key] = r.value
		}
		return m
	}
	if !maps.Equal(plain(want), plain(got)) {
		return differ(want, got)
	}
	return nil
}

func lastPerKey(want, got []record) error {
	return multiset(latest(want, record.id), latest(got, record.id))
}

func lastPerKeySubset(want, got []record) error {
	return superset(latest(want, record.id), latest(got, record.id))
}

func last(want, got []record) error {
	if len(want) == 0 || len(got) == 0 {
		return exact(want, got)
	}
	return exact(want[len(want)-1:], got[len(got)-1:])
}

// windows compares the windows of a time in the order of their start.
func windows(want, got []record) error {
	spans := func(rs []record) []record {
		out := make([]record, 0, len(rs))
		for _, r := range rs {
			out = append(out, record{window: r.window})
		}
		return slices.SortedFunc(slices.Values(out), func(a, b record) int { return int(a.window.Start - b.window.Start) })
	}
	return exact(spans(want), spans(got))
}
