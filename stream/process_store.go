package stream

import (
	"fmt"
	"iter"
	"time"

	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
	"github.com/weirstream/weir/table"
)

// A Store describes a key-value store for processors and queries.
type Store[K, V any] struct {
	name  string
	key   serde.Serde[K]
	value serde.Serde[V]
	o     settings
}

// NewStore describes one. The name is final: changelog and files carry it.
func NewStore[K, V any](name string, k serde.Serde[K], v serde.Serde[V], opts ...StateOption) *Store[K, V] {
	return &Store[K, V]{name, k, v, collect(opts, func(o StateOption, s *settings) { o.state(s) })}
}

// A sharedStore is the use of a Store by a processor.
type sharedStore struct {
	name string
	ttl  time.Duration
	bind func(b *binding) (any, error)
}

// Store declares the use of a store, which other processors of the same sub-topology may share.
func (p *Processor[K, K2, V2]) Store[SK, SV any](s *Store[SK, SV]) state.KeyValue[SK, SV] {
	if d := p.declared; d != nil {
		d.shared = append(d.shared, &sharedStore{s.name, s.o.ttl, func(b *binding) (any, error) {
			k, err := bindInternal(b, s.key, true)
			if err != nil {
				return nil, err
			}
			v, err := bindInternal(b, s.value, false)
			return &rowSerdes[SK, SV]{k, v}, err
		}})
		return nil
	}
	bound := p.bound.states[sharedKey(s.name)].(*rowSerdes[SK, SV])
	if open, ok := p.in.shared[s.name]; ok {
		st := *open.(*keyValue[SK, SV])
		st.run = p.run
		return &st
	}
	st := &keyValue[SK, SV]{cell: openCell(p.in, p.run, s.name, rowSerde[SV]{bound.value}, serde.Plain[SV](), nil, s.o), serde: bound.key}
	p.in.shared[s.name] = st
	return st
}

// A keyValue is a state.KeyValue over a task's part of a store.
type keyValue[K, V any] struct {
	cell[row[V]]
	serde serde.Serde[K]
}

func (s *keyValue[K, V]) at(k K) []byte {
	b, err := s.serde.Append(s.buf[:0], k)
	if err != nil {
		Reject(fmt.Errorf("store %s: key: %w", s.name, err))
	}
	s.buf = b
	return b
}

func (s *keyValue[K, V]) Get(k K) (V, bool) {
	r, ok := s.get(s.at(k))
	if !ok || s.ttl.gone(r.t, s.now()) {
		return *new(V), false
	}
	return r.v, true
}

func (s *keyValue[K, V]) Put(k K, v V) {
	e := s.store.Entry(s.at(k))
	before, had := e.Get()
	s.set(e, row[V]{v, s.now()})
	s.written(s.buf, before.t, had)
}

func (s *keyValue[K, V]) Delete(k K) { s.remove(s.store.Entry(s.at(k))) }

func (s *keyValue[K, V]) Range(from, to K) iter.Seq2[K, V] {
	lo := append([]byte(nil), s.at(from)...)
	return s.pairs(s.store.Range(lo, append([]byte(nil), s.at(to)...)))
}

func (s *keyValue[K, V]) All() iter.Seq2[K, V] { return s.pairs(s.store.Range(nil, nil)) }

func (s *keyValue[K, V]) pairs(rows iter.Seq2[[]byte, row[V]]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for b, r := range rows {
			if s.ttl.gone(r.t, s.now()) {
				continue
			}
			if k := decodeStored(s.serde, b); !yield(k, r.v) {
				return
			}
		}
	}
}

// decodeStored is the key of a stored row: an error means that the store is not what it should be, and the task ends.
func decodeStored[K any](s serde.Serde[K], b []byte) K {
	k, err := s.Decode(b)
	if err != nil {
		panic(task.Failure{Err: fmt.Errorf("stored key %q: %w", b, err)})
	}
	return k
}

// Table declares the reading of a co-partitioned table, as it is when it is read.
func (p *Processor[K, K2, V2]) Table[TK, TV any](t *Table[TK, TV]) state.Reader[TK, TV] {
	if d := p.declared; d != nil {
		d.tables = append(d.tables, t.node)
		d.ports = append(d.ports, func(*instance) any { return recv[TK, table.Change[TV]](func(*task.Context, TK, table.Change[TV]) {}) })
		return nil
	}
	return &tableReader[TK, TV]{get: t.lookup(p.in), all: t.scan, in: p.in, name: t.node.Name}
}

// A tableReader reads a table from a processor.
type tableReader[K, V any] struct {
	get  lookup[K, V]
	all  func(in *instance) scanner[K, V]
	in   *instance
	name string
}

// A scanner iterates over the rows of a table in one task, in the order of their keys' bytes; from and to nil are no bounds.
type scanner[K, V any] func(from, to *K) iter.Seq2[K, V]

func (r *tableReader[K, V]) Get(k K) (V, bool) {
	v, _, ok := r.get(k)
	return v, ok
}

func (r *tableReader[K, V]) Range(from, to K) iter.Seq2[K, V] { return r.scan(&from, &to) }
func (r *tableReader[K, V]) All() iter.Seq2[K, V]             { return r.scan(nil, nil) }

func (r *tableReader[K, V]) scan(from, to *K) iter.Seq2[K, V] {
	if r.all == nil {
		panic(fmt.Errorf("table %s cannot be iterated over: only one that keeps its rows can", r.name))
	}
	return r.all(r.in)(from, to)
}

// scanRows is the scanner of a table that keeps its rows in the store of a node.
func scanRows[K, V any](n *topology.Node) func(in *instance) scanner[K, V] {
	return func(in *instance) scanner[K, V] {
		r := rowsOf[K, V](in, n)
		return func(from, to *K) iter.Seq2[K, V] {
			var lo, hi []byte
			for bound, at := range map[*K]*[]byte{from: &lo, to: &hi} {
				if bound == nil {
					continue
				}
				b, err := r.encode(*bound)
				if err != nil {
					Reject(fmt.Errorf("range of table %s: %w", n.Name, err))
				}
				*at = append([]byte{}, b...)
			}
			return func(yield func(K, V) bool) {
				for k, rw := range r.store.Range(lo, hi) {
					if !yield(r.decode(k), rw.v) {
						return
					}
				}
			}
		}
	}
}
