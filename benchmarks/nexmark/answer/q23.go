package answer

import "github.com/weirstream/weir/benchmarks/nexmark/event"

// Row23 is a bid, who made it, and an auction that the same person opened.
type Row23 struct {
	Bidder, Price          int64
	Channel, URL, BidExtra string

	Person                   int64
	Name, Email, CreditCard  string
	City, State, PersonExtra string
	Item, Description        string
	InitialBid, Reserve      int64
	Opened, Expires          int64
	Seller, Category         int64
	AuctionExtra             string
}

// Q23: every bid with its bidder and each auction of that bidder.
func Q23(events Events) (rows []Row23) {
	byBidder := by(bids(events), bidder)
	bySeller := by(auctions(events), func(a event.Auction) int64 { return a.Seller })
	for _, p := range persons(events) {
		for _, b := range byBidder[p.ID] {
			for _, a := range bySeller[p.ID] {
				rows = append(rows, Row23{
					b.Bidder, b.Price, b.Channel, b.URL, b.Extra,
					p.ID, p.Name, p.Email, p.CreditCard, p.City, p.State, p.Extra,
					a.Item, a.Description, a.InitialBid, a.Reserve, a.Time, a.Expires, a.Seller, a.Category, a.Extra,
				})
			}
		}
	}
	return rows
}
