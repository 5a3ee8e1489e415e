package answer

import "strings"

// Row14 is a bid of a certain price, and things that were worked out about it.
type Row14 struct {
	Auction, Bidder int64
	Price           int64 // thousandths of a cent, as in Row1
	TimeType        string
	Time            int64
	Extra           string
	Cs              int64 // how often extra has the letter c
}

// Q14: the bids whose converted price is between 1,000,000 and 50,000,000, both excluded.
func Q14(events Events) (rows []Row14) {
	for _, b := range bids(events) {
		price := b.Price * 908
		if price <= 1_000_000_000 || price >= 50_000_000_000 {
			continue
		}
		kind, hour := "otherTime", utc(b.Time).Hour()
		if hour >= 8 && hour <= 18 {
			kind = "dayTime"
		} else if hour <= 6 || hour >= 20 {
			kind = "nightTime"
		}
		rows = append(rows, Row14{b.Auction, b.Bidder, price, kind, b.Time, b.Extra, int64(strings.Count(b.Extra, "c"))})
	}
	return rows
}
