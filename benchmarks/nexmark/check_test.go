package nexmark

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

func query(t testing.TB, name string) Query {
	t.Helper()
	for _, q := range Queries() {
		if q.Name == name {
			return q
		}
	}
	t.Fatalf("there is no query %s", name)
	return Query{}
}

// A check that cannot fail is none: each way of being wrong is found.
func TestCheckFindsFaults(t *testing.T) {
	g := event.New(event.Config{PerSecond: 1000})
	events := g.First(5_000)
	q2, q17, q12 := query(t, "q2"), query(t, "q17"), query(t, "q12")
	key := func(k answer.AuctionDay) any { return dayID{dayOf(g.Time(0)), k.Auction} }
	for _, c := range []struct {
		name string
		q    Query
		emit func(add func(key, value any, deleted bool))
		want string
	}{
		{"right rows", q2, func(add func(key, value any, deleted bool)) {
			for _, r := range answer.Q2(events) {
				add(struct{}{}, r, false)
			}
		}, ""},
		{"a row twice", q2, func(add func(key, value any, deleted bool)) {
			for i, r := range answer.Q2(events) {
				if add(struct{}{}, r, false); i == 0 {
					add(struct{}{}, r, false)
				}
			}
		}, "0 are missing, and 1 are too many"},
		{"a row changed", q2, func(add func(key, value any, deleted bool)) {
			for i, r := range answer.Q2(events) {
				if i == 0 {
					r.Price++
				}
				add(struct{}{}, r, false)
			}
		}, "1 are missing, and 1 are too many"},
		{"no rows", q2, func(func(key, value any, deleted bool)) {}, "missing"},
		{"right table after updates", q17, func(add func(key, value any, deleted bool)) {
			for k, r := range answer.Q17(events) {
				add(key(k), answer.Row17{}, false)
				add(key(k), nil, true)
				add(key(k), r, false)
			}
		}, ""},
		{"a row deleted", q17, func(add func(key, value any, deleted bool)) {
			for k, r := range answer.Q17(events) {
				add(key(k), r, k.Auction == 7)
			}
		}, "1 are missing, and 0 are too many"},
		{"sums in parts", q12, func(add func(key, value any, deleted bool)) {
			for k, n := range answer.Q12(events) {
				add(k, answer.Row11{Bids: 1}, false)
				add(k, answer.Row11{Bids: n - 1}, false)
			}
		}, ""},
	} {
		rows := NewRows(c.q)
		c.emit(rows.add)
		err := rows.Check(c.q, events)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Every answer has rows, so that none is compared with nothing.
func TestAnswersAreNotEmpty(t *testing.T) {
	events := event.New(event.Config{PerSecond: 1000}).First(12_000)
	for _, q := range Queries() {
		if q.Answer(events).Len() == 0 {
			t.Errorf("%s has no rows", q.Name)
		}
	}
}
