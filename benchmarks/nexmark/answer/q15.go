package answer

import "github.com/weirstream/weir/benchmarks/nexmark/event"

// Ranks counts something in all bids, and in those below 10,000, below 1,000,000, and from there on.
type Ranks struct{ Total, Rank1, Rank2, Rank3 int64 }

// Row15 is the statistics of a day.
type Row15 struct{ Bids, Bidders, Auctions Ranks }

// Q15: per day, how many bids, different bidders and different auctions there were, by price.
func Q15(events Events) map[string]Row15 {
	rows := map[string]Row15{}
	for day, all := range by(bids(events), func(b event.Bid) string { return day(b.Time) }) {
		rows[day] = statistics(all)
	}
	return rows
}

func statistics(all []event.Bid) Row15 {
	return Row15{
		Bids:     Ranks{count(all, anyRank), count(all, rank1), count(all, rank2), count(all, rank3)},
		Bidders:  Ranks{distinct(all, anyRank, bidder), distinct(all, rank1, bidder), distinct(all, rank2, bidder), distinct(all, rank3, bidder)},
		Auctions: Ranks{distinct(all, anyRank, onto), distinct(all, rank1, onto), distinct(all, rank2, onto), distinct(all, rank3, onto)},
	}
}
