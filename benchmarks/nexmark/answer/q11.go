package answer

import (
	"slices"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// Row11 is a session of a bidder. End is SQL's SESSION_END: the last bid and the gap.
type Row11 struct{ Bidder, Bids, Start, End int64 }

// Q11: how many bids each bidder made per session, which 10 s without one end.
func Q11(events Events) (rows []Row11) {
	const gap = 10_000
	for who, own := range by(bids(events), bidder) {
		slices.SortFunc(own, func(a, b event.Bid) int { return int(a.Time - b.Time) })
		for i, b := range own {
			if i == 0 || b.Time-own[i-1].Time > gap {
				rows = append(rows, Row11{Bidder: who, Start: b.Time})
			}
			session := &rows[len(rows)-1]
			session.Bids++
			session.End = b.Time + gap
		}
	}
	return rows
}
