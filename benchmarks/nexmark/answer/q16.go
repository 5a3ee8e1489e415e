package answer

import "github.com/weirstream/weir/benchmarks/nexmark/event"

// ChannelDay is the key of query 16.
type ChannelDay struct{ Channel, Day string }

// Row16 is the statistics of a channel and day.
type Row16 struct {
	Minute string // of the last bid, HH:mm
	Row15
}

// Q16: query 15 per channel, with the last minute that had a bid.
func Q16(events Events) map[ChannelDay]Row16 {
	rows := map[ChannelDay]Row16{}
	for key, all := range by(bids(events), func(b event.Bid) ChannelDay { return ChannelDay{b.Channel, day(b.Time)} }) {
		minute := ""
		for _, b := range all {
			minute = max(minute, utc(b.Time).Format("15:04"))
		}
		rows[key] = Row16{minute, statistics(all)}
	}
	return rows
}
