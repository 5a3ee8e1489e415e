package answer

import "github.com/weirstream/weir/benchmarks/nexmark/event"

// Row20 is a bid and the auction it was made on.
type Row20 struct {
	Bid                 event.Bid
	Item, Description   string
	InitialBid, Reserve int64
	Opened, Expires     int64
	Seller, Category    int64
	AuctionExtra        string
}

// Q20: every bid on an auction of category 10, whenever it was made.
func Q20(events Events) (rows []Row20) {
	onAuction := by(bids(events), onto)
	for _, a := range auctions(events) {
		if a.Category != 10 {
			continue
		}
		for _, b := range onAuction[a.ID] {
			rows = append(rows, Row20{b, a.Item, a.Description, a.InitialBid, a.Reserve, a.Time, a.Expires, a.Seller, a.Category, a.Extra})
		}
	}
	return rows
}
