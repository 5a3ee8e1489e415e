package answer

// Row2 is a price on an auction.
type Row2 struct{ Auction, Price int64 }

// Q2: the bids on auctions whose id is a multiple of 123.
func Q2(events Events) (rows []Row2) {
	for _, b := range bids(events) {
		if b.Auction%123 == 0 {
			rows = append(rows, Row2{b.Auction, b.Price})
		}
	}
	return rows
}
