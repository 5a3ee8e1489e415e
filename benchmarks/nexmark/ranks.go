package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/benchmarks/nexmark/internal/fields"
)

// Queries 15 and 16 count different bidders and auctions per day. A set of them as one value would be encoded whole at each
// checkpoint. So there is a small row per bidder (auction) and day, and a table of sums follows the rows' changes.

// A tally is what one bidder or auction adds to its day: its bids by rank. It is a distinct one of each rank that it has bids of. Minute, of the
// day, is that of its last bid.
type tally struct{ Rank1, Rank2, Rank3, Minute int64 }

func newTally() tally { return tally{} }

// count adds a bid to a tally.
func count[K any](_ K, b event.Bid, t tally) tally {
	switch {
	case b.Price < 10_000:
		t.Rank1++
	case b.Price < 1_000_000:
		t.Rank2++
	default:
		t.Rank3++
	}
	t.Minute = max(t.Minute, b.Time%dayMillis/60_000)
	return t
}

// sums is the tallies of a day.
type sums struct {
	Bids, Distinct answer.Ranks
	Minute         int64
}

func newSums() sums { return sums{} }

func addTally[K any](_ K, t tally, s sums) sums {
	s = s.plus(t, 1)
	s.Minute = max(s.Minute, t.Minute)
	return s
}

// takeTally leaves Minute: the minute of a row never falls, so the greatest of all that there ever were is that of the rows.
func takeTally[K any](_ K, t tally, s sums) sums { return s.plus(t, -1) }

func (s sums) plus(t tally, n int64) sums {
	s.Bids.Total += n * (t.Rank1 + t.Rank2 + t.Rank3)
	s.Bids.Rank1 += n * t.Rank1
	s.Bids.Rank2 += n * t.Rank2
	s.Bids.Rank3 += n * t.Rank3
	s.Distinct.Total += n
	s.Distinct.Rank1 += n * min(t.Rank1, 1)
	s.Distinct.Rank2 += n * min(t.Rank2, 1)
	s.Distinct.Rank3 += n * min(t.Rank3, 1)
	return s
}

// row joins the sums by bidder with those by auction.
func row(byBidder, byAuction sums) answer.Row15 {
	return answer.Row15{Bids: byBidder.Bids, Bidders: byBidder.Distinct, Auctions: byAuction.Distinct}
}

func (t tally) AppendBinary(b []byte) ([]byte, error) {
	return fields.Ints(b, t.Rank1, t.Rank2, t.Rank3, t.Minute), nil
}

func (t *tally) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	t.Rank1, t.Rank2, t.Rank3, t.Minute = r.Int(), r.Int(), r.Int(), r.Int()
	return r.End()
}

func (s sums) AppendBinary(b []byte) ([]byte, error) {
	for _, r := range [...]answer.Ranks{s.Bids, s.Distinct} {
		b = fields.Ints(b, r.Total, r.Rank1, r.Rank2, r.Rank3)
	}
	return fields.Ints(b, s.Minute), nil
}

func (s *sums) UnmarshalBinary(b []byte) error {
	r := fields.Read(b)
	for _, to := range [...]*answer.Ranks{&s.Bids, &s.Distinct} {
		to.Total, to.Rank1, to.Rank2, to.Rank3 = r.Int(), r.Int(), r.Int(), r.Int()
	}
	s.Minute = r.Int()
	return r.End()
}
