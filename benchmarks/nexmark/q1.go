package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q1 copies every bid with its price times 0.908. SQL has a DECIMAL(23, 3) for that; so have we, in thousandths.
func Q1(_ *stream.Builder, events Events, out Output) {
	out.stream(bids(events).MapValues(func(b event.Bid) answer.Row1 {
		return answer.Row1{Auction: b.Auction, Bidder: b.Bidder, Price: converted(b.Price), Time: b.Time, Extra: b.Extra}
	}))
}

// converted is a price times 0.908, in thousandths.
func converted(price int64) int64 { return price * 908 }
