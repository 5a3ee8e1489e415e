package stream

import (
	"fmt"
	"iter"
	"slices"

	"github.com/weirstream/weir/internal/engine"
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

func (s *Store[K, V]) queried(c *Compiled, a *engine.App) (table.Source[K, V], error) {
	for _, n := range c.prog.graph.Nodes {
		if !slices.ContainsFunc(specOf(n).stores, func(st storeSpec) bool { return st.name == s.name }) {
			continue
		}
		sub, err := c.subOf(n)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", s.name, err)
		}
		at := &binding{app: c.Plan.App, node: n, config: c.prog.config}
		k, err := bindInternal(at, s.key, true)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", s.name, err)
		}
		v, err := bindInternal(at, s.value, false)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", s.name, err)
		}
		r := &storeReader[K, V]{s, k, v}
		q := &querying[K, V]{app: a, prog: c.prog, name: s.name, node: n, sub: sub, forms: plainForms(k), lookup: r.lookup, scan: r.scan, anywhere: true}
		if !serde.Plain[V]() {
			q.value = v
		}
		return q, nil
	}
	return nil, fmt.Errorf("store %s: no processor of the app uses it", s.name)
}

// A storeReader reads a Store from outside of processors. What has outlived its TTL is gone, whether it was swept or not.
type storeReader[K, V any] struct {
	*Store[K, V]
	keys   serde.Serde[K]
	values serde.Serde[V]
}

func (s *storeReader[K, V]) open(in *instance) *overlay.Store[row[V]] {
	if st, ok := in.opened[s.name]; ok {
		return st.(*overlay.Store[row[V]])
	}
	return openStore(in, "process", s.name, serde.Bytes, rowSerde[V]{s.values}, serde.Plain[V](), nil, false)
}

func (s *storeReader[K, V]) lookup(in *instance) lookup[K, V] {
	st, ttl := s.open(in), s.o.ttl.Milliseconds()
	return func(k K) (v V, t int64, ok bool) {
		b, err := s.keys.Append(nil, k)
		if err != nil {
			return v, 0, false // a key that cannot be encoded is in no store
		}
		r, ok := st.Lookup(b)
		if !ok || ttl > 0 && in.env.Now()-r.t >= ttl {
			return v, 0, false
		}
		return r.v, r.t, true
	}
}

func (s *storeReader[K, V]) scan(in *instance) scanner[K, V] {
	st := s.open(in)
	return func(from, to *K) iter.Seq2[K, V] {
		lo, hi := limit(s.keys, from), limit(s.keys, to)
		return func(yield func(K, V) bool) {
			for b, r := range st.Range(lo, hi) {
				if !yield(decodeStored(s.keys, b), r.v) {
					return
				}
			}
		}
	}
}

// limit is a bound of a range in bytes; nil is none.
func limit[K any](s serde.Serde[K], k *K) []byte {
	if k == nil {
		return nil
	}
	b, err := s.Append([]byte{}, *k)
	if err != nil {
		Reject(fmt.Errorf("range: key: %w", err))
	}
	return b
}
