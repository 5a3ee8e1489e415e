package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q18 returns the last bid of each bidder on each auction, all its columns. SQL leaves open which of two in the same
// millisecond is the last; event.Bid.Follows decides, so that the answer does not depend on who reads what first.
func Q18(_ *stream.Builder, events Events, out Output) {
	out.table(bids(events).
		GroupBy(func(_ struct{}, b event.Bid) bidderAuction { return bidderAuction{b.Bidder, b.Auction} }).
		Reduce(func(a, b event.Bid) event.Bid {
			if b.Follows(a) > 0 {
				return b
			}
			return a
		}, stream.Named("last-bids")))
}
