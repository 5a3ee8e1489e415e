package stream

import (
	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// To writes updates, and deletions as tombstones.
func (t *Table[K, V]) To(sink connector.Sink[K, V], opts ...SinkOption) {
	o := collect(opts, func(o SinkOption, s *settings) { o.sink(s) })
	addSink(t.b, sink, o, t.node, func(in *instance, w *sinkEnd[K, V]) any {
		return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
			if !ch.HadOld && !ch.HasNew {
				return
			}
			w.rec.Key, w.rec.Value, w.rec.Deleted = k, ch.New, !ch.HasNew
			w.write(c)
		})
	})
}
