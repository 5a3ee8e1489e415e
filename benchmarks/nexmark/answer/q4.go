package answer

// Q4: per category, the average of its auctions' highest valid bids, cut to whole cents.
func Q4(events Events) map[int64]int64 {
	finals := map[int64][]int64{}
	for a, valid := range won(events) {
		highest := int64(0)
		for _, b := range valid {
			highest = max(highest, b.Price)
		}
		finals[a.Category] = append(finals[a.Category], highest)
	}
	averages := map[int64]int64{}
	for category, prices := range finals {
		averages[category] = average(prices)
	}
	return averages
}

// average is SQL's AVG of a BIGINT: a BIGINT, cut towards zero.
func average(all []int64) int64 {
	sum := int64(0)
	for _, v := range all {
		sum += v
	}
	return sum / int64(len(all))
}
