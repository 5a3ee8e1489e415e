package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

// Q3 joins auctions of category 10 with their sellers in Oregon, Idaho and California: name, city, state, auction. The join has no bound in
// time: an auction waits for its seller for ever, and a seller for auctions. A person registers once, so
// only the auctions that came before their seller are kept.
func Q3(_ *stream.Builder, events Events, out Output) {
	out.stream(events.
		Filter(func(_ struct{}, e event.Event) bool {
			switch e.Kind {
			case event.IsPerson:
				return e.Person.State == "OR" || e.Person.State == "ID" || e.Person.State == "CA"
			case event.IsAuction:
				return e.Auction.Category == 10
			}
			return false
		}).
		SelectKey(func(_ struct{}, e event.Event) int64 {
			if e.Kind == event.IsPerson {
				return e.Person.ID
			}
			return e.Auction.Seller
		}).
		ProcessValues(localSellers, stream.Named("local-sellers")))
}

func localSellers(p *stream.Processor[int64, int64, answer.Row3]) func(stream.Record[int64, event.Event]) error {
	seller := p.Value("seller", serde.For[*event.Person]())
	waiting := p.List("waiting", serde.Int64)
	emit := func(s *event.Person, auction int64) {
		p.Emit(s.ID, answer.Row3{Name: s.Name, City: s.City, State: s.State, Auction: auction})
	}
	return func(r stream.Record[int64, event.Event]) error {
		if s := r.Value.Person; s != nil {
			seller.Set(s)
			for auction := range waiting.All() {
				emit(s, auction)
			}
			waiting.Clear()
			return nil
		}
		if s, ok := seller.Get(); ok {
			emit(s, r.Value.Auction.ID)
		} else {
			waiting.Append(r.Value.Auction.ID)
		}
		return nil
	}
}
