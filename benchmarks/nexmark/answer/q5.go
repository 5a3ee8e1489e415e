package answer

// Row5 is an auction that was hot in some window.
type Row5 struct{ Auction, Bids int64 }

// Q5: for each window of 10 s that starts at a multiple of 2 s, the auctions with the most bids in it.
func Q5(events Events) (rows []Row5) {
	all := bids(events)
	if len(all) == 0 {
		return nil
	}
	first, last := all[0].Time, all[0].Time
	for _, b := range all {
		first, last = min(first, b.Time), max(last, b.Time)
	}
	for start := first/2000*2000 - 10_000; start <= last; start += 2000 {
		counts, most := map[int64]int64{}, int64(0)
		for _, b := range all {
			if start <= b.Time && b.Time < start+10_000 {
				counts[b.Auction]++
				most = max(most, counts[b.Auction])
			}
		}
		for auction, n := range counts {
			if n == most {
				rows = append(rows, Row5{auction, n})
			}
		}
	}
	return rows
}
