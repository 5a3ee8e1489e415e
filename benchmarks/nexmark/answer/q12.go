package answer

// Q12: how many bids each bidder made. The query counts per 10 s of processing time; where those begin and end differs
// from run to run, so what can be checked is their sum.
func Q12(events Events) map[int64]int64 {
	counts := map[int64]int64{}
	for _, b := range bids(events) {
		counts[b.Bidder]++
	}
	return counts
}
