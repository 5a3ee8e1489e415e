package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// Q20 joins bids with their auctions of category 10: all columns of both. The join has no bound in time, neither auction
// nor bid need be first. An auction of another category is remembered too, or its bids would wait for ever.
func Q20(_ *stream.Builder, events Events, out Output) {
	out.stream(events.
		Filter(func(_ struct{}, e event.Event) bool { return e.Kind != event.IsPerson }).
		SelectKey(func(_ struct{}, e event.Event) int64 {
			if e.Kind == event.IsAuction {
				return e.Auction.ID
			}
			return e.Bid.Auction
		}).
		ProcessValues(expandBids, stream.Named("expanded")))
}

func expandBids(p *stream.Processor[int64, int64, answer.Row20]) func(stream.Record[int64, event.Event]) error {
	opened := p.Value("auction", serde.For[*event.Auction]())
	waiting := p.List("waiting", serde.For[event.Bid]())
	join := func(a *event.Auction, b event.Bid) {
		if a.Category != 10 {
			return
		}
		p.Emit(a.ID, answer.Row20{
			Bid: b, Item: a.Item, Description: a.Description, InitialBid: a.InitialBid, Reserve: a.Reserve,
			Opened: a.Time, Expires: a.Expires, Seller: a.Seller, Category: a.Category, AuctionExtra: a.Extra,
		})
	}
	return func(r stream.Record[int64, event.Event]) error {
		if a := r.Value.Auction; a != nil {
			opened.Set(a)
			for b := range waiting.All() {
				join(a, b)
			}
			waiting.Clear()
			return nil
		}
		if a, ok := opened.Get(); ok {
			join(a, r.Value.Bid)
		} else {
			waiting.Append(r.Value.Bid)
		}
		return nil
	}
}
