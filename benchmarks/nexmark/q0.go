package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q0 copies auction, bidder, price, time and extra of every bid.
func Q0(_ *stream.Builder, events Events, out Output) {
	out.stream(bids(events).MapValues(func(b event.Bid) answer.Row0 {
		return answer.Row0{Auction: b.Auction, Bidder: b.Bidder, Price: b.Price, Time: b.Time, Extra: b.Extra}
	}))
}
