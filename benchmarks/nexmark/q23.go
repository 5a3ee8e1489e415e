package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// Q23 joins every bid with the person who made it and with each auction that the same person opened: the columns of all three. None of
// the joins has a bound in time, so all bids and auctions of everybody are kept. All three have
// the person's id for a key, so one processor joins them at once.
func Q23(_ *stream.Builder, events Events, out Output) {
	out.stream(events.
		SelectKey(func(_ struct{}, e event.Event) int64 {
			switch e.Kind {
			case event.IsPerson:
				return e.Person.ID
			case event.IsAuction:
				return e.Auction.Seller
			}
			return e.Bid.Bidder
		}).
		ProcessValues(joinThree, stream.Named("three")))
}

// joinThree keeps what has come of each kind, and joins what comes with all there is of the other two.
func joinThree(p *stream.Processor[int64, int64, answer.Row23]) func(stream.Record[int64, event.Event]) error {
	person := p.Value("person", serde.For[*event.Person]())
	opened := p.List("auctions", serde.For[*event.Auction]())
	made := p.List("bids", serde.For[event.Bid]())
	return func(r stream.Record[int64, event.Event]) error {
		who, known := person.Get()
		switch e := r.Value; e.Kind {
		case event.IsPerson:
			person.Set(e.Person)
			for b := range made.All() {
				for a := range opened.All() {
					p.Emit(r.Key, three(e.Person, a, b))
				}
			}
		case event.IsAuction:
			opened.Append(e.Auction)
			if known {
				for b := range made.All() {
					p.Emit(r.Key, three(who, e.Auction, b))
				}
			}
		default:
			made.Append(e.Bid)
			if known {
				for a := range opened.All() {
					p.Emit(r.Key, three(who, a, e.Bid))
				}
			}
		}
		return nil
	}
}

func three(p *event.Person, a *event.Auction, b event.Bid) answer.Row23 {
	return answer.Row23{
		Bidder: b.Bidder, Price: b.Price, Channel: b.Channel, URL: b.URL, BidExtra: b.Extra,
		Person: p.ID, Name: p.Name, Email: p.Email, CreditCard: p.CreditCard, City: p.City, State: p.State, PersonExtra: p.Extra,
		Item: a.Item, Description: a.Description, InitialBid: a.InitialBid, Reserve: a.Reserve, Opened: a.Time, Expires: a.Expires,
		Seller: a.Seller, Category: a.Category, AuctionExtra: a.Extra,
	}
}
