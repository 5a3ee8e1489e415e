package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// TransformValues is TryMapValues with sight of the key, the time, the headers and the origin. The key stays.
func (s *Stream[K, V]) TransformValues[V2 any](f func(r Record[K, V]) (V2, error), opts ...Option) *Stream[K, V2] {
	op := &operator{headers: true, keepsKey: true, make: func(in *instance) any {
		next, self, reject := outs[K, V2](in), in.self(), in.rejection()
		guarded := !in.failing()
		return recv[K, V](func(c *task.Context, k K, v V) {
			var v2 V2
			if attempt(c, self, reject, guarded, func() (err error) { v2, err = f(recordOf(c, k, v)); return }) {
				next(c, k, v2)
			}
		})
	}}
	return then[K, V, K, V2](s, s.b.add("transform-values", plainOptions(opts), op, at(s.node)), s.rekeyed)
}
