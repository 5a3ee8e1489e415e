package answer

import (
	"slices"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// Row9 is an auction and the bid that wins it.
type Row9 struct {
	Auction       event.Auction
	Bidder, Price int64
	BidTime       int64
	BidExtra      string
}

// Q9: per auction, the highest valid bid, of equal ones the earliest.
func Q9(events Events) map[int64]Row9 {
	rows := map[int64]Row9{}
	for a, valid := range won(events) {
		best := slices.MaxFunc(valid, event.Bid.Beats)
		rows[a.ID] = Row9{a, best.Bidder, best.Price, best.Time, best.Extra}
	}
	return rows
}
