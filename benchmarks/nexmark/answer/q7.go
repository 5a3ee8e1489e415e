package answer

import "github.com/weirstream/weir/benchmarks/nexmark/event"

// Q7: for each 10 s, the bids with the highest price.
func Q7(events Events) (rows []Row0) {
	for _, in := range by(bids(events), func(b event.Bid) int64 { return b.Time / 10_000 }) {
		highest := int64(0)
		for _, b := range in {
			highest = max(highest, b.Price)
		}
		for _, b := range in {
			if b.Price == highest {
				rows = append(rows, Row0{b.Auction, b.Bidder, b.Price, b.Time, b.Extra})
			}
		}
	}
	return rows
}
