package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q2 keeps the bids on auctions whose id is a multiple of 123: auction and price.
func Q2(_ *stream.Builder, events Events, out Output) {
	out.stream(bids(events).
		Filter(func(_ struct{}, b event.Bid) bool { return b.Auction%123 == 0 }).
		MapValues(func(b event.Bid) answer.Row2 { return answer.Row2{Auction: b.Auction, Price: b.Price} }))
}
