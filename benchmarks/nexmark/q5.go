package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/window"
)

// Q5 counts bids per auction in windows of 10 s that start every 2 s, and returns the auctions with the highest count of each
// window, all of them where they tie: auction and count.
//
// A count carries the last millisecond of its window, and windows end 2 s apart. So tumbling windows of 2 s over the counts
// hold those of one window each, and close right behind it.
func Q5(_ *stream.Builder, events Events, out Output) {
	counts := bids(events).
		GroupBy(func(_ struct{}, b event.Bid) int64 { return b.Auction }).
		Window(window.Hopping(10*time.Second, 2*time.Second)).
		Count(stream.Named("counts"))
	hottest := counts.ToStream().
		Map(func(k window.Key[int64], n int64) (struct{}, answer.Row5) {
			return struct{}{}, answer.Row5{Auction: k.Key, Bids: n}
		}).
		GroupByKey().
		Window(window.Tumbling(2*time.Second)).
		Aggregate(noRows[answer.Row5], hotter, stream.Named("hottest"))
	out.stream(flat(hottest))
}

func noRows[R any]() []R { return nil }

// hotter keeps the rows with the highest count.
func hotter(_ struct{}, row answer.Row5, hot []answer.Row5) []answer.Row5 {
	switch {
	case len(hot) == 0 || row.Bids == hot[0].Bids:
		return append(hot, row)
	case row.Bids > hot[0].Bids:
		return append(hot[:0], row)
	}
	return hot
}

// flat is the rows that windows have collected.
func flat[K, R any](t *stream.Table[window.Key[K], []R]) *stream.Stream[window.Key[K], R] {
	return t.ToStream().FlatMapValues(func(rows []R) []R { return rows })
}
