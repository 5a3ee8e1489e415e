package nexmark

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
)

// Rows is what a query returns, printed: a number before any of it counts. Its methods may be called by many goroutines at once.
type Rows struct {
	kind  kind
	mu    sync.Mutex
	last  map[string]string // of a table: the row of each key
	count map[string]int64  // of a stream: how often each row came; by the clock: the sum per key
}

// A kind is how rows amount to an answer.
type kind int

const (
	facts kind = iota
	updates
	totals
)

// NewRows collects the rows of a query.
func NewRows(q Query) *Rows {
	k := facts
	switch {
	case q.Table:
		k = updates
	case q.Clock:
		k = totals
	}
	return newRows(k)
}

func newRows(k kind) *Rows {
	return &Rows{kind: k, last: map[string]string{}, count: map[string]int64{}}
}

// Output collects.
func (r *Rows) Output() Output { return Collect(r.add) }

func (r *Rows) add(key, value any, deleted bool) {
	if k, ok := key.(interface{ answer() any }); ok {
		key = k.answer()
	}
	k, v := fmt.Sprintf("%+v", key), fmt.Sprintf("%+v", value)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.kind == totals:
		r.count[k] += value.(answer.Row11).Bids
	case r.kind == facts:
		r.count[v]++
	case deleted:
		delete(r.last, k)
	default:
		r.last[k] = v
	}
}

// Printed takes a row that another system printed in the words of Check: a value, or key = value of a table.
func (r *Rows) Printed(row string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kind != updates {
		r.count[row]++
		return
	}
	key, value, _ := strings.Cut(row, " = ")
	r.last[key] = value
}

// Len is how many rows there are.
func (r *Rows) Len() int {
	n := int64(0)
	for _, c := range r.all() {
		n += c
	}
	return int(n)
}

// all is the rows with how often each is there.
func (r *Rows) all() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kind != updates {
		return maps.Clone(r.count)
	}
	all := map[string]int64{}
	for k, v := range r.last {
		all[k+" = "+v] = 1
	}
	return all
}

// Check compares the rows with the answer of package answer over the same events, and shows some of those that are too many or too few.
func (r *Rows) Check(q Query, events answer.Events) error {
	got, want := r.all(), q.Answer(events).all()
	var missing, extra []string
	for row, n := range want {
		if d := n - got[row]; d > 0 {
			missing = append(missing, fmt.Sprintf("%d × %.300s", d, row))
		}
	}
	for row, n := range got {
		if d := n - want[row]; d > 0 {
			extra = append(extra, fmt.Sprintf("%d × %.300s", d, row))
		}
	}
	if len(missing)+len(extra) == 0 {
		return nil
	}
	return fmt.Errorf("%s: of %d different rows %d are missing, and %d are too many%s%s",
		q.Name, len(want), len(missing), len(extra), some("\nmissing ", missing), some("\ntoo many ", extra))
}

// some is the first few rows in order, so that two runs with the same fault say the same.
func some(before string, rows []string) string {
	slices.Sort(rows)
	var b strings.Builder
	for _, row := range rows[:min(len(rows), 4)] {
		b.WriteString(before + row)
	}
	return b.String()
}

// rowsOf is the answer of a query whose rows are final.
func rowsOf[R any](f func(answer.Events) []R) func(answer.Events) *Rows {
	return func(events answer.Events) *Rows {
		r := newRows(facts)
		for _, row := range f(events) {
			r.add(nil, row, false)
		}
		return r
	}
}

// tableOf is the answer of a query whose rows are updated.
func tableOf[K comparable, R any](f func(answer.Events) map[K]R) func(answer.Events) *Rows {
	return func(events answer.Events) *Rows {
		r := newRows(updates)
		for k, row := range f(events) {
			r.add(k, row, false)
		}
		return r
	}
}

// totalsOf is the answer of a query of which only sums are certain.
func totalsOf(f func(answer.Events) map[int64]int64) func(answer.Events) *Rows {
	return func(events answer.Events) *Rows {
		r := newRows(totals)
		for k, n := range f(events) {
			r.add(k, answer.Row11{Bids: n}, false)
		}
		return r
	}
}

// q13 is answer.Q13 over the rows of the side input.
func q13(events answer.Events) []answer.Row13 {
	side := map[int64]string{}
	for r := range sideInput {
		side[r.Key] = r.Value
	}
	return answer.Q13(events, side)
}
