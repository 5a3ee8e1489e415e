package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/task"
)

// JoinGlobal looks up key(k, v) in g; false from key is no match.
func (s *Stream[K, V]) JoinGlobal[GK, V2, R any](g *Global[GK, V2], key func(k K, v V) (GK, bool), f func(v V, v2 V2) R, opts ...Option) *Stream[K, R] {
	return joinGlobal(s, g, false, key, func(v V, v2 V2, _ bool) R { return f(v, v2) }, plainOptions(opts))
}

// LeftJoinGlobal keeps records without a row, ok false.
func (s *Stream[K, V]) LeftJoinGlobal[GK, V2, R any](g *Global[GK, V2], key func(k K, v V) (GK, bool), f func(v V, v2 V2, ok bool) R, opts ...Option) *Stream[K, R] {
	return joinGlobal(s, g, true, key, f, plainOptions(opts))
}

func joinGlobal[K, V, GK, V2, R any](s *Stream[K, V], g *Global[GK, V2], left bool, key func(k K, v V) (GK, bool), f func(v V, v2 V2, ok bool) R, o settings) *Stream[K, R] {
	op := &operator{make: func(in *instance) any {
		rows := in.results[g.node].(*sourceSpec).global.(*globalRows[GK, V2])
		next, self, reject, guarded := outs[K, R](in), in.self(), in.rejection(), !in.failing()
		var buf []byte
		return recv[K, V](func(c *task.Context, k K, v V) {
			var r R
			keep := left
			if !attempt(c, self, reject, guarded, func() error {
				var v2 V2
				gk, ok := key(k, v)
				if ok {
					b, err := rows.key.Append(buf[:0], gk)
					if err != nil {
						return fmt.Errorf("key of global table %s: %w", g.node.Name, err)
					}
					buf = b
					v2, ok = rows.get(b)
				}
				if keep = keep || ok; keep {
					r = f(v, v2, ok)
				}
				return nil
			}) || !keep {
				return
			}
			next(c, k, r)
		})
	}}
	n := s.b.add("join-global", o, op, at(s.node))
	n.Detail = g.node.Name
	return then[K, V, K, R](s, n, s.rekeyed)
}
