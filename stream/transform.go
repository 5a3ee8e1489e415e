package stream

import (
	"time"

	"github.com/weirstream/weir/internal/task"
)

// Transform is FlatMap over whole records: f sees and sets time, headers and key, and may fail. What it emitted before
// it failed stays. The key counts as changed. A record it emits without an Origin has that of the record at hand.
func (s *Stream[K, V]) Transform[K2, V2 any](f func(r Record[K, V], emit func(Record[K2, V2])) error, opts ...Option) *Stream[K2, V2] {
	op := &operator{headers: true, make: func(in *instance) any {
		next, self, reject := outs[K2, V2](in), in.self(), in.rejection()
		guarded := !in.failing()
		var c *task.Context
		emit := func(r Record[K2, V2]) {
			forward(c, next, &r)
			c.Fault = self
		}
		return recv[K, V](func(ctx *task.Context, k K, v V) {
			c = ctx
			attempt(c, self, reject, guarded, func() error { return f(recordOf(c, k, v), emit) })
		})
	}}
	return then[K, V, K2, V2](s, s.b.add("transform", plainOptions(opts), op, at(s.node)), true)
}

// recordOf is the record at hand as users see it.
func recordOf[K, V any](c *task.Context, k K, v V) Record[K, V] {
	return Record[K, V]{Key: k, Value: v, Time: time.UnixMilli(c.Time).UTC(), Headers: c.Headers, Origin: c.Origin, NoKey: c.NoKey}
}

// forward sends a record on with what it says of itself, and puts the context back.
func forward[K, V any](c *task.Context, next recv[K, V], r *Record[K, V]) {
	t, headers, origin, noKey := c.Time, c.Headers, c.Origin, c.NoKey
	c.Time, c.Headers, c.NoKey = millis(r.Time), r.Headers, r.NoKey
	if r.Origin.Topic != "" {
		c.Origin = r.Origin
	}
	next(c, r.Key, r.Value)
	c.Time, c.Headers, c.Origin, c.NoKey = t, headers, origin, noKey
}
