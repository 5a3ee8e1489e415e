package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// Q7 returns the bids with the highest price of each 10 s, all of them where they tie: auction, bidder, price, time, extra.
//
// The suite joins each window's maximum with all bids BETWEEN the window's two ends, and so takes a bid of the first millisecond
// of the next window that happens to have the same price. We follow the question, highest bid per period, and leave it out.
//
// The maximum is of all bids, which would make one task do all the work. So 64 groups have their own first.
func Q7(_ *stream.Builder, events Events, out Output) {
	every := window.Tumbling(10 * time.Second)
	highest := bids(events).
		GroupBy(func(_ struct{}, b event.Bid) int64 { return b.Auction % 64 }).
		Window(every).
		Aggregate(noRows[event.Bid], higher[int64], stream.Named("highest-of-group"))
	overall := flat(highest).
		Map(func(_ window.Key[int64], b event.Bid) (struct{}, event.Bid) { return struct{}{}, b }).
		GroupByKey().
		Window(every).
		Aggregate(noRows[event.Bid], higher[struct{}], stream.Named("highest"))
	out.stream(flat(overall).MapValues(func(b event.Bid) answer.Row0 {
		return answer.Row0{Auction: b.Auction, Bidder: b.Bidder, Price: b.Price, Time: b.Time, Extra: b.Extra}
	}))
}

// higher keeps the bids with the highest price.
func higher[K any](_ K, b event.Bid, high []event.Bid) []event.Bid {
	switch {
	case len(high) == 0 || b.Price == high[0].Price:
		return append(high, b)
	case b.Price > high[0].Price:
		return append(high[:0], b)
	}
	return high
}
