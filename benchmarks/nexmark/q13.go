package nexmark

import (
	"strconv"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
	"github.com/weirstream/weir/stream"
)

// sideRows is the size of the side input.
const sideRows = 10_000

// Q13 joins every bid with the row of a bounded side input whose key is the bid's auction modulo 10,000, as the side input is when the bid is
// processed: auction, bidder, price, time, value. A bid without a row would be left out.
func Q13(b *stream.Builder, events Events, out Output) {
	side := b.Global(memory.From("side-input", sideInput))
	out.stream(bids(events).JoinGlobal(side,
		func(_ struct{}, b event.Bid) (int64, bool) { return b.Auction % sideRows, true },
		func(b event.Bid, value string) answer.Row13 {
			return answer.Row13{Auction: b.Auction, Bidder: b.Bidder, Price: b.Price, Time: b.Time, Value: value}
		}))
}

// sideInput yields the rows; every seventh key has none, so that the join has something to leave out.
func sideInput(yield func(connector.Record[int64, string]) bool) {
	for key := range int64(sideRows) {
		if key%7 != 0 && !yield(connector.Record[int64, string]{Key: key, Value: "side " + strconv.FormatInt(key, 10)}) {
			return
		}
	}
}
