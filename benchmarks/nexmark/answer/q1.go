package answer

// Row1 is a bid in another currency.
type Row1 struct {
	Auction, Bidder int64
	Price           int64 // thousandths of a cent: SQL has DECIMAL(23, 3)
	Time            int64
	Extra           string
}

// Q1: every bid, its price times 0.908.
func Q1(events Events) (rows []Row1) {
	for _, b := range bids(events) {
		rows = append(rows, Row1{b.Auction, b.Bidder, b.Price * 908, b.Time, b.Extra})
	}
	return rows
}
