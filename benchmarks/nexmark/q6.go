package nexmark

import (
	"cmp"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/benchmarks/nexmark/internal/fields"
	"github.com/weirstream/weir/stream"
)

// Q6 averages a seller's winning prices over the auction at hand and the ten before it, by the time of the winning bid. The suite
// has it and cannot run it: SQL's OVER does not take back what changed, and a winning bid changes. A table does; its row
// is the average up to the seller's latest auction.
func Q6(_ *stream.Builder, events Events, out Output) {
	sales := winners(events, func(a *event.Auction, b event.Bid) sale { return sale{a.Seller, a.ID, b.Price, b.Time} }).
		ToTable(stream.Named("sales"))
	out.table(sales.
		GroupBy(func(_ int64, s sale) (int64, sale) { return s.Seller, s }).
		TopN(11, later, stream.Named("last-eleven")).
		MapValues(func(last []sale) int64 {
			m := mean{}
			for _, s := range last {
				m = addToMean(0, s.Price, m)
			}
			return m.value()
		}))
}

// A sale is an auction that has a winner.
type sale struct{ Seller, Auction, Price, Time int64 }

func later(a, b sale) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Auction, b.Auction))
}

func (s sale) AppendBinary(b []byte) ([]byte, error) {
	return fields.Ints(b, s.Seller, s.Auction, s.Price, s.Time), nil
}

func (s *sale) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	s.Seller, s.Auction, s.Price, s.Time = r.Int(), r.Int(), r.Int(), r.Int()
	return r.End()
}
