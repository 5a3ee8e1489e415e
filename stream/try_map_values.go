package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// TryMapValues is MapValues by a function that can fail; what fails goes to the error policy.
func (s *Stream[K, V]) TryMapValues[V2 any](f func(v V) (V2, error), opts ...Option) *Stream[K, V2] {
	op := &operator{keepsKey: true, make: func(in *instance) any {
		next, self, reject := outs[K, V2](in), in.self(), in.rejection()
		guarded := !in.failing()
		return recv[K, V](func(c *task.Context, k K, v V) {
			var v2 V2
			if attempt(c, self, reject, guarded, func() (err error) { v2, err = f(v); return }) {
				next(c, k, v2)
			}
		})
	}}
	return then[K, V, K, V2](s, s.b.add("try-map-values", plainOptions(opts), op, at(s.node)), s.rekeyed)
}
