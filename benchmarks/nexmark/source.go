package nexmark

import (
	"time"

	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/connector/memory"
)

// Source is the first events, made while they are read: event n is in partition n modulo the number of partitions. It ends after
// count events, or the next lower multiple of partitions.
func Source(g *event.Generator, count uint64, partitions int) connector.Source[struct{}, event.Event] {
	return memory.Generate("events", partitions, int64(count)/int64(partitions),
		func(partition int, i int64, r *connector.Record[struct{}, event.Event]) {
			n := uint64(i)*uint64(partitions) + uint64(partition)
			g.Event(n, &r.Value)
			r.Time = time.UnixMilli(g.Time(n))
			r.NoKey = true
		})
}
