package stream

import (
	"github.com/weirstream/weir/internal/task"
)

// ForEach ends the stream in f, which is called at least once per record.
func (s *Stream[K, V]) ForEach(f func(r Record[K, V]) error, opts ...Option) {
	op := &operator{headers: true, make: func(in *instance) any {
		self, reject, guarded := in.self(), in.rejection(), !in.failing()
		return recv[K, V](func(c *task.Context, k K, v V) {
			attempt(c, self, reject, guarded, func() error { return f(recordOf(c, k, v)) })
		})
	}}
	s.b.add("for-each", plainOptions(opts), op, at(s.node))
}
