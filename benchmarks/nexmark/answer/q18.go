package answer

import (
	"slices"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// BidderAuction is the key of query 18.
type BidderAuction struct{ Bidder, Auction int64 }

// Q18: the last bid of each bidder on each auction.
func Q18(events Events) map[BidderAuction]event.Bid {
	rows := map[BidderAuction]event.Bid{}
	for key, all := range by(bids(events), func(b event.Bid) BidderAuction { return BidderAuction{b.Bidder, b.Auction} }) {
		rows[key] = slices.MaxFunc(all, event.Bid.Follows)
	}
	return rows
}
