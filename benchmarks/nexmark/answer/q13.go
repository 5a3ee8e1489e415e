package answer

// Row13 is a bid with what the side input says about its auction.
type Row13 struct {
	Auction, Bidder, Price int64
	Time                   int64
	Value                  string
}

// Q13: every bid joined with the row of a side input whose key is the auction's id modulo 10,000. Bids without such a row
// are left out.
func Q13(events Events, side map[int64]string) (rows []Row13) {
	for _, b := range bids(events) {
		if v, ok := side[b.Auction%10_000]; ok {
			rows = append(rows, Row13{b.Auction, b.Bidder, b.Price, b.Time, v})
		}
	}
	return rows
}
