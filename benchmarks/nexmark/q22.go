package nexmark

import (
	"strings"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q22 splits the URL of every bid at its slashes, and returns the parts 3, 4 and 5, counted from 0: auction, bidder, price, channel and
// three directories. A part that is not there is empty; SQL has NULL, and the suite's URLs always have them.
func Q22(_ *stream.Builder, events Events, out Output) {
	out.stream(bids(events).MapValues(func(b event.Bid) answer.Row22 {
		rest := b.URL
		for range 3 {
			_, rest, _ = strings.Cut(rest, "/")
		}
		r := answer.Row22{Auction: b.Auction, Bidder: b.Bidder, Price: b.Price, Channel: b.Channel}
		r.Dir1, rest, _ = strings.Cut(rest, "/")
		r.Dir2, rest, _ = strings.Cut(rest, "/")
		r.Dir3, _, _ = strings.Cut(rest, "/")
		return r
	}))
}
