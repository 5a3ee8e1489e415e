package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// Q11 counts the bids of each session of a bidder, which 10 s without a bid end: bidder, count, start, end. Bids exactly
// 10 s apart are in one session. SQL's SESSION_END is 10 s behind the last bid; our spans end a millisecond behind it.
func Q11(_ *stream.Builder, events Events, out Output) {
	const gap = 10 * time.Second
	out.stream(bids(events).
		GroupBy(func(_ struct{}, b event.Bid) int64 { return b.Bidder }).
		Session(window.Session(gap)).
		Count(stream.Named("sessions")).
		ToStream().
		Map(func(k window.Key[int64], n int64) (int64, answer.Row11) {
			start, end := k.Span.Millis()
			return k.Key, answer.Row11{Bidder: k.Key, Bids: n, Start: start, End: end - 1 + gap.Milliseconds()}
		}))
}
