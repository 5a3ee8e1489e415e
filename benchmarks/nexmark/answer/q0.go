package answer

// Row0 is a bid without where it came from.
type Row0 struct {
	Auction, Bidder, Price int64
	Time                   int64
	Extra                  string
}

// Q0: every bid.
func Q0(events Events) (rows []Row0) {
	for _, b := range bids(events) {
		rows = append(rows, Row0{b.Auction, b.Bidder, b.Price, b.Time, b.Extra})
	}
	return rows
}
