package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/benchmarks/nexmark/internal/fields"
	"github.com/weirstream/weir/stream"
)

// Q4 averages the highest valid bids of a category's auctions. An auction counts from its first valid bid on, and its part of
// the average is corrected when it rises. The average is cut to a whole number, as SQL's AVG of a BIGINT is.
func Q4(_ *stream.Builder, events Events, out Output) {
	final := winners(events, func(a *event.Auction, b event.Bid) categoryPrice { return categoryPrice{a.Category, b.Price} }).
		ToTable(stream.Named("finals"))
	out.table(final.
		GroupBy(func(_ int64, f categoryPrice) (int64, int64) { return f.Category, f.Price }).
		Aggregate(func() mean { return mean{} }, addToMean, takeFromMean, stream.Named("averages")).
		MapValues(mean.value))
}

// A categoryPrice is what an auction counts for.
type categoryPrice struct{ Category, Price int64 }

func (c categoryPrice) AppendBinary(b []byte) ([]byte, error) {
	return fields.Ints(b, c.Category, c.Price), nil
}

func (c *categoryPrice) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	c.Category, c.Price = r.Int(), r.Int()
	return r.End()
}

// A mean is an average that values can leave again.
type mean struct{ Sum, Count int64 }

func addToMean(_, v int64, m mean) mean    { return mean{m.Sum + v, m.Count + 1} }
func takeFromMean(_, v int64, m mean) mean { return mean{m.Sum - v, m.Count - 1} }

func (m mean) value() int64 {
	if m.Count == 0 {
		return 0
	}
	return m.Sum / m.Count
}

func (m mean) AppendBinary(b []byte) ([]byte, error) { return fields.Ints(b, m.Sum, m.Count), nil }

func (m *mean) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	m.Sum, m.Count = r.Int(), r.Int()
	return r.End()
}
