package nexmark

import (
	"strings"
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q14 keeps the bids whose price, times 0.908, is above 1,000,000 and below 50,000,000: auction, bidder, that price, whether it was by day
// (hours 8 to 18), by night (to 6 and from 20) or in between, time, extra, and how often extra has a c.
func Q14(_ *stream.Builder, events Events, out Output) {
	out.stream(bids(events).
		Filter(func(_ struct{}, b event.Bid) bool {
			price := converted(b.Price)
			return price > 1_000_000_000 && price < 50_000_000_000
		}).
		MapValues(func(b event.Bid) answer.Row14 {
			return answer.Row14{
				Auction: b.Auction, Bidder: b.Bidder, Price: converted(b.Price), TimeType: timeType(b.Time),
				Time: b.Time, Extra: b.Extra, Cs: int64(strings.Count(b.Extra, "c")),
			}
		}))
}

func timeType(ms int64) string {
	switch hour := time.UnixMilli(ms).UTC().Hour(); {
	case hour >= 8 && hour <= 18:
		return "dayTime"
	case hour <= 6 || hour >= 20:
		return "nightTime"
	}
	return "otherTime"
}
