package answer

import "github.com/weirstream/weir/benchmarks/nexmark/event"

// AuctionDay is the key of query 17.
type AuctionDay struct {
	Auction int64
	Day     string
}

// Row17 is the statistics of an auction and day.
type Row17 struct {
	Bids               Ranks
	Min, Max, Avg, Sum int64
}

// Q17: per auction and day, how many bids there were, and their prices.
func Q17(events Events) map[AuctionDay]Row17 {
	rows := map[AuctionDay]Row17{}
	for key, all := range by(bids(events), func(b event.Bid) AuctionDay { return AuctionDay{b.Auction, day(b.Time)} }) {
		r := Row17{Bids: Ranks{count(all, anyRank), count(all, rank1), count(all, rank2), count(all, rank3)}, Min: all[0].Price}
		var prices []int64
		for _, b := range all {
			prices = append(prices, b.Price)
			r.Min, r.Max, r.Sum = min(r.Min, b.Price), max(r.Max, b.Price), r.Sum+b.Price
		}
		r.Avg = average(prices)
		rows[key] = r
	}
	return rows
}
