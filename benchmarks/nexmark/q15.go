package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q15 counts, per day of UTC, bids, different bidders and different auctions: in all, and among the bids below 10,000, from there to
// below 1,000,000, and from there on. The rows are updated all day.
func Q15(_ *stream.Builder, events Events, out Output) {
	all := bids(events)
	byBidder := perDay(all, "bidders", func(b event.Bid) int64 { return b.Bidder })
	byAuction := perDay(all, "auctions", func(b event.Bid) int64 { return b.Auction })
	out.table(byBidder.Join(byAuction, row, stream.Named("statistics")))
}

// perDay sums the tallies of whatever id names.
func perDay(all *stream.Stream[struct{}, event.Bid], name string, id func(event.Bid) int64) *stream.Table[day, sums] {
	return all.
		GroupBy(func(_ struct{}, b event.Bid) dayID { return dayID{dayOf(b.Time), id(b)} }).
		Aggregate(newTally, count[dayID], stream.Named(name)).
		GroupBy(func(k dayID, t tally) (day, tally) { return k.Day, t }).
		Aggregate(newSums, addTally[day], takeTally[day], stream.Named(name+"-per-day"))
}
