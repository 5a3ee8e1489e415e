package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q19 returns the ten highest bids on each auction, all columns; the rank is the place in the row. Of equal prices SQL leaves the order
// open; event.Bid.Beats decides.
func Q19(_ *stream.Builder, events Events, out Output) {
	out.table(bids(events).
		GroupBy(func(_ struct{}, b event.Bid) int64 { return b.Auction }).
		TopN(10, event.Bid.Beats, stream.Named("top-ten")))
}
