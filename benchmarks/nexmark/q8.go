package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/benchmarks/nexmark/internal/fields"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// Q8 returns who registered and opened an auction within the same tumbling window of 10 s: id, name, start of the window. One row,
// however many auctions.
//
// SQL joins two windowed aggregates; here both streams feed one.
func Q8(_ *stream.Builder, events Events, out Output) {
	registered := persons(events).GroupBy(func(_ struct{}, p *event.Person) int64 { return p.ID })
	opened := auctions(events).GroupBy(func(_ struct{}, a *event.Auction) int64 { return a.Seller })
	seen := registered.
		Cogroup(func(_ int64, p *event.Person, s sighting) sighting { s.Person, s.Name = 1, p.Name; return s }).
		And(opened, func(_ int64, _ *event.Auction, s sighting) sighting { s.Seller = 1; return s }).
		AggregateWindow(window.Tumbling(10*time.Second), func() sighting { return sighting{} }, stream.Named("seen"))
	out.stream(newSellers(seen))
}

func newSellers(seen *stream.Table[window.Key[int64], sighting]) *stream.Stream[int64, answer.Row8] {
	return seen.ToStream().
		Filter(func(_ window.Key[int64], s sighting) bool { return s.Person == 1 && s.Seller == 1 }).
		Map(func(k window.Key[int64], s sighting) (int64, answer.Row8) {
			start, _ := k.Span.Millis()
			return k.Key, answer.Row8{ID: k.Key, Name: s.Name, Start: start}
		})
}

// A sighting is what a window saw of somebody: Person and Seller are 1 once seen.
type sighting struct {
	Person, Seller int64
	Name           string
}

func (s sighting) AppendBinary(b []byte) ([]byte, error) {
	return fields.Strings(fields.Ints(b, s.Person, s.Seller), s.Name), nil
}

func (s *sighting) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	s.Person, s.Seller, s.Name = r.Int(), r.Int(), r.String()
	return r.End()
}
