package answer

import (
	"slices"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
)

// Q19: the ten highest bids on each auction, highest first; rank is the place, from 1.
func Q19(events Events) map[int64][]event.Bid {
	rows := by(bids(events), onto)
	for auction, all := range rows {
		slices.SortFunc(all, func(a, b event.Bid) int { return b.Beats(a) })
		rows[auction] = all[:min(len(all), 10)]
	}
	return rows
}
