package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/benchmarks/nexmark/internal/fields"
	"github.com/weirstream/weir/stream"
)

// Q17 counts, per auction and day of UTC, the bids in all and by the price ranks of [Q15], with their lowest, highest, average (cut to a whole
// number) and summed price. The rows are updated all day.
func Q17(_ *stream.Builder, events Events, out Output) {
	out.table(bids(events).
		GroupBy(func(_ struct{}, b event.Bid) dayID { return dayID{dayOf(b.Time), b.Auction} }).
		Aggregate(func() prices { return prices{} }, addPrice, stream.Named("prices")).
		MapValues(func(p prices) answer.Row17 {
			n := p.Rank1 + p.Rank2 + p.Rank3
			return answer.Row17{Bids: answer.Ranks{Total: n, Rank1: p.Rank1, Rank2: p.Rank2, Rank3: p.Rank3}, Min: p.Min, Max: p.Max, Avg: p.Sum / n, Sum: p.Sum}
		}))
}

// prices is a tally with what there is to say about prices.
type prices struct {
	tally
	Min, Max, Sum int64
}

func addPrice(k dayID, b event.Bid, p prices) prices {
	if p.Sum == 0 {
		p.Min = b.Price
	}
	p.tally = count(k, b, p.tally)
	p.Min, p.Max, p.Sum = min(p.Min, b.Price), max(p.Max, b.Price), p.Sum+b.Price
	return p
}

func (p prices) AppendBinary(b []byte) ([]byte, error) {
	return fields.Ints(b, p.Rank1, p.Rank2, p.Rank3, p.Minute, p.Min, p.Max, p.Sum), nil
}

func (p *prices) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	p.Rank1, p.Rank2, p.Rank3, p.Minute = r.Int(), r.Int(), r.Int(), r.Int()
	p.Min, p.Max, p.Sum = r.Int(), r.Int(), r.Int()
	return r.End()
}
