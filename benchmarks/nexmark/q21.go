package nexmark

import (
	"strings"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Q21 adds the id of its channel to a bid: 0 to 3 for Apple, Google, Facebook and Baidu in any case, else what follows channel_id= in the URL, up to the next
// &, where that stands at the beginning or behind an &. Bids of channels without an id are dropped. Auction, bidder,
// price, channel, id.
func Q21(_ *stream.Builder, events Events, out Output) {
	out.stream(bids(events).
		Filter(func(_ struct{}, b event.Bid) bool { _, ok := channelID(b); return ok }).
		MapValues(func(b event.Bid) answer.Row21 {
			id, _ := channelID(b)
			return answer.Row21{Auction: b.Auction, Bidder: b.Bidder, Price: b.Price, Channel: b.Channel, ChannelID: id}
		}))
}

func channelID(b event.Bid) (id string, ok bool) {
	for i, name := range [...]string{"apple", "google", "facebook", "baidu"} {
		if strings.EqualFold(b.Channel, name) {
			return "0123"[i : i+1], true
		}
	}
	const parameter = "channel_id="
	rest, ok := strings.CutPrefix(b.URL, parameter)
	if !ok {
		_, rest, ok = strings.Cut(b.URL, "&"+parameter)
	}
	id, _, _ = strings.Cut(rest, "&")
	return id, ok
}
