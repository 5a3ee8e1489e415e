package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q9 returns each auction with the bid that wins it, all columns of the auction, and bidder, price, time and extra of the bid. The row
// is updated while better bids come. Of equal prices the earlier bid wins; SQL leaves open which of two in the same
// millisecond does, event.Bid.Beats decides.
func Q9(_ *stream.Builder, events Events, out Output) {
	out.table(winners(events, func(a *event.Auction, b event.Bid) answer.Row9 {
		return answer.Row9{Auction: *a, Bidder: b.Bidder, Price: b.Price, BidTime: b.Time, BidExtra: b.Extra}
	}).ToTable(stream.Named("winning-bids")))
}
