package answer

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// Q6: per seller, the average of the winning prices of the last eleven auctions, by the time of the winning bid.
func Q6(events Events) map[int64]int64 {
	type sale struct{ seller, auction, price, at int64 }
	var sales []sale
	for a, valid := range won(events) {
		best := slices.MaxFunc(valid, event.Bid.Beats)
		sales = append(sales, sale{a.Seller, a.ID, best.Price, best.Time})
	}
	averages := map[int64]int64{}
	for seller, own := range maps.All(by(sales, func(s sale) int64 { return s.seller })) {
		slices.SortFunc(own, func(a, b sale) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.auction, a.auction)) })
		var prices []int64
		for _, s := range own[:min(len(own), 11)] {
			prices = append(prices, s.price)
		}
		averages[seller] = average(prices)
	}
	return averages
}
