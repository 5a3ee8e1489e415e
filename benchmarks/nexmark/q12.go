package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// Q12 counts the bids of each bidder that were processed within 10 s of the wall clock: bidder, count, start, end. weir's windows are of
// event time; a timer by the wall clock makes these.
func Q12(_ *stream.Builder, events Events, out Output) {
	out.stream(bids(events).
		SelectKey(func(_ struct{}, b event.Bid) int64 { return b.Bidder }).
		ProcessValues(countByClock, stream.Named("by-clock")))
}

func countByClock(p *stream.Processor[int64, int64, answer.Row11]) func(stream.Record[int64, event.Bid]) error {
	const every = 10 * time.Second
	count := p.Value("count", serde.Int64)
	end := p.ClockTimer("end", func(bidder int64, at time.Time) error {
		n, _ := count.Get()
		count.Clear()
		p.Emit(bidder, answer.Row11{Bidder: bidder, Bids: n, Start: at.Add(-every).UnixMilli(), End: at.UnixMilli()})
		return nil
	})
	return func(stream.Record[int64, event.Bid]) error {
		n, counting := count.Get()
		if !counting {
			end.Set(p.Now().Truncate(every).Add(every))
		}
		count.Set(n + 1)
		return nil
	}
}
