package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// winners is what queries 4, 6 and 9 begin with: per auction the bid that wins it, updated whenever a better one comes. Valid
// bids are made from the auction's time to its expiry, both included; the highest price wins, then the
// earliest. As in SQL the join has no bound in time: whenever a bid comes, it counts, and bids that
// come before their auction wait for it.
func winners[W any](events Events, of func(a *event.Auction, b event.Bid) W) *stream.Stream[int64, W] {
	setup := func(p *stream.Processor[int64, int64, W]) func(stream.Record[int64, event.Event]) error {
		opened := p.Value("auction", serde.For[*event.Auction]())
		best := p.Value("best", serde.For[event.Bid]())
		early := p.List("early", serde.For[event.Bid]())
		consider := func(a *event.Auction, b event.Bid) {
			if b.Time < a.Time || b.Time > a.Expires {
				return
			}
			if leader, ok := best.Get(); ok && leader.Beats(b) >= 0 {
				return
			}
			best.Set(b)
			p.Emit(a.ID, of(a, b))
		}
		return func(r stream.Record[int64, event.Event]) error {
			if a := r.Value.Auction; a != nil {
				opened.Set(a)
				for b := range early.All() {
					consider(a, b)
				}
				early.Clear()
				return nil
			}
			if a, ok := opened.Get(); ok {
				consider(a, r.Value.Bid)
			} else {
				early.Append(r.Value.Bid)
			}
			return nil
		}
	}
	return events.
		Filter(func(_ struct{}, e event.Event) bool { return e.Kind != event.IsPerson }).
		SelectKey(func(_ struct{}, e event.Event) int64 {
			if e.Kind == event.IsAuction {
				return e.Auction.ID
			}
			return e.Bid.Auction
		}).
		ProcessValues(setup, stream.Named("winners"))
}
