package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q10 copies every bid with the day and the minute of its time, by which the suite's file sink makes directories. weir has no such sink;
// the rows are what it would be given.
func Q10(_ *stream.Builder, events Events, out Output) {
	out.stream(bids(events).MapValues(func(b event.Bid) answer.Row10 {
		at := time.UnixMilli(b.Time).UTC()
		return answer.Row10{
			Row0:   answer.Row0{Auction: b.Auction, Bidder: b.Bidder, Price: b.Price, Time: b.Time, Extra: b.Extra},
			Day:    at.Format(time.DateOnly),
			Minute: at.Format("15:04"),
		}
	}))
}
