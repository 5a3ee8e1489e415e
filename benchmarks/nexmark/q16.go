package nexmark

import (
	"fmt"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q16 is [Q15] per channel and day, with the greatest minute (HH:mm) that had a bid.
func Q16(_ *stream.Builder, events Events, out Output) {
	all := bids(events)
	byBidder := perChannel(all, "bidders", func(b event.Bid) int64 { return b.Bidder })
	byAuction := perChannel(all, "auctions", func(b event.Bid) int64 { return b.Auction })
	out.table(byBidder.Join(byAuction, func(b, a sums) answer.Row16 {
		return answer.Row16{Minute: fmt.Sprintf("%02d:%02d", b.Minute/60, b.Minute%60), Row15: row(b, a)}
	}, stream.Named("statistics")))
}

// perChannel sums the tallies of whatever id names.
func perChannel(all *stream.Stream[struct{}, event.Bid], name string, id func(event.Bid) int64) *stream.Table[channelDay, sums] {
	return all.
		GroupBy(func(_ struct{}, b event.Bid) channelDayID {
			return channelDayID{channelDay{b.Channel, dayOf(b.Time)}, id(b)}
		}).
		Aggregate(newTally, count[channelDayID], stream.Named(name)).
		GroupBy(func(k channelDayID, t tally) (channelDay, tally) { return k.channelDay, t }).
		Aggregate(newSums, addTally[channelDay], takeTally[channelDay], stream.Named(name+"-per-channel"))
}
