package stream

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/state"
)

// declare notes a state, or returns its bound serdes when a task is being made.
func declare[B any](d *declarations, b *boundProcess, name string, opts []StateOption, bind func(*binding) (B, error)) (bound B, set settings, declaring bool) {
	set = collect(opts, func(o StateOption, s *settings) { o.state(s) })
	if d == nil {
		return b.states[name].(B), set, false
	}
	if set.ttl < 0 {
		d.problem(fmt.Errorf("state %s: TTL %v is negative", name, set.ttl))
	}
	d.states = append(d.states, &stateDecl{name: name, ttl: set.ttl > 0, bind: func(at *binding) (any, error) { return bind(at) }})
	return bound, set, true
}

// A cell is the part of a state that all kinds share: its store, whose rows carry when they were written, and how the record at hand
// undoes what it has changed.
type cell[V any] struct {
	run   *processing
	store *overlay.Store[V]
	ttl   *ttl
	name  string
	plain bool
	buf   []byte            // of a kind that has more in its keys
	lent  []overlay.Lent[V] // to the record at hand
}

func openCell[V any](in *instance, run *processing, name string, s serde.Serde[V], plain bool, clone func(V) V, o settings) cell[V] {
	c := cell[V]{run: run, name: name, plain: plain, store: openStore(in, "process", name, serde.Bytes, s, plain, clone, false)}
	if o.ttl > 0 {
		c.ttl = openTTL(in, run, name, o.ttl)
		run.prune = append(run.prune, func(now int64) { c.ttl.prune(now, c.expire) })
	}
	return c
}

// key is the encoded key of the record or timer at hand, as a prefix that no other key's begins with. All states of the processor share it until
// another key is at hand: nobody appends to it.
func (c *cell[V]) key() []byte {
	r := c.run
	if !r.hasKey {
		panic(fmt.Errorf("state %s is used where no key is at hand: only the functions for records and timers have one", c.name))
	}
	if len(r.prefix) == 0 {
		r.prefix = keys.AppendBytes(r.prefix, r.key)
	}
	return r.prefix[:len(r.prefix):len(r.prefix)]
}

// get reads a row. Who fails may have changed its value in place, and not have set it yet: see processing.call.
func (c *cell[V]) get(key []byte) (V, bool) {
	if c.plain {
		return c.store.Get(key)
	}
	e, lent := c.store.Lend(key)
	if len(c.lent) == 0 {
		c.run.lenders = append(c.run.lenders, c)
	}
	c.lent = append(c.lent, lent)
	if e.Found() {
		c.remember(e)
	}
	return e.Get()
}

// takeBack makes what the record at hand was lent what it was, and says how much of it cannot be.
func (c *cell[V]) takeBack() (lost int) {
	for _, l := range c.lent {
		if !c.store.TakeBack(l) {
			lost++
		}
	}
	return lost
}

// keep ends the lending: the record at hand is done.
func (c *cell[V]) keep() {
	clear(c.lent)
	c.lent = c.lent[:0]
}

// set changes an entry; remove deletes it.
func (c *cell[V]) set(e *overlay.Entry[V], v V) {
	c.remember(e)
	c.store.Set(e, v)
}

func (c *cell[V]) remove(e *overlay.Entry[V]) {
	if e.Found() {
		c.remember(e)
		c.store.Remove(e)
	}
}

func (c *cell[V]) remember(e *overlay.Entry[V]) {
	if c.run.guarded {
		before := c.store.Save(e)
		c.run.undo = append(c.run.undo, func() { c.store.Undo(before) })
	}
}

// removeAll deletes every row whose key begins with prefix.
func (c *cell[V]) removeAll(prefix []byte) {
	for _, k := range c.keysOf(prefix) {
		if c.run.guarded {
			c.remove(c.store.Entry(k))
		} else {
			c.store.Delete(k)
		}
	}
}

func (c *cell[V]) keysOf(prefix []byte) (found [][]byte) {
	for k := range c.store.Keys(prefix) {
		found = append(found, bytes.Clone(k))
	}
	return found
}

// now is the wall clock in ms; written notes that the key's state was written now.
func (c *cell[V]) now() int64 { return c.run.node.Task().Now() }

func (c *cell[V]) written(key []byte, before int64, had bool) {
	if c.ttl != nil {
		c.ttl.touch(key, before, had, c.now())
	}
}

// expire deletes what was last written at or before limit. It is not part of a record, so nothing is remembered.
func (c *cell[V]) expire(key []byte, limit int64) {
	e := c.store.Entry(key)
	if v, ok := e.Get(); !ok || any(v).(timed).writtenAt() > limit {
		return
	}
	for _, k := range c.keysOf(key) {
		c.store.Delete(k)
	}
}

// timed rows know when they were written, by the wall clock.
type timed interface{ writtenAt() int64 }

func (r row[V]) writtenAt() int64 { return r.t }

// Value declares one value per key.
func (p *Processor[K, K2, V2]) Value[T any](name string, s serde.Serde[T], opts ...StateOption) state.Value[T] {
	b, o, declaring := declare(p.declared, p.bound, name, opts, func(at *binding) (serde.Serde[T], error) { return bindInternal(at, s, false) })
	if declaring {
		return nil
	}
	v := &value[T]{openCell(p.in, p.run, p.in.node.Name+"-"+name, rowSerde[T]{b}, serde.Plain[T](), nil, o)}
	p.run.near = append(p.run.near, v.store)
	return v
}

// A value is a state.Value.
type value[T any] struct{ cell[row[T]] }

func (v *value[T]) Get() (T, bool) {
	r, ok := v.get(v.key())
	if !ok || v.ttl.gone(r.t, v.now()) {
		return *new(T), false
	}
	return r.v, true
}

func (v *value[T]) Set(x T) {
	key := v.key()
	e := v.store.Entry(key)
	before, had := e.Get()
	v.set(e, row[T]{x, v.now()})
	v.written(key, before.t, had)
}

func (v *value[T]) Clear() { v.remove(v.store.Entry(v.key())) }

// Map declares a map per key.
func (p *Processor[K, K2, V2]) Map[F, T any](name string, f serde.Serde[F], s serde.Serde[T], opts ...StateOption) state.Map[F, T] {
	b, o, declaring := declare(p.declared, p.bound, name, opts, func(at *binding) (mapSerdes[F, T], error) {
		fb, err := bindInternal(at, f, true)
		if err != nil {
			return mapSerdes[F, T]{}, err
		}
		sb, err := bindInternal(at, s, false)
		return mapSerdes[F, T]{fb, sb}, err
	})
	if declaring {
		return nil
	}
	return &fields[F, T]{openCell(p.in, p.run, p.in.node.Name+"-"+name, rowSerde[T]{b.value}, serde.Plain[T](), nil, o), b.field}
}

type mapSerdes[F, T any] struct {
	field serde.Serde[F]
	value serde.Serde[T]
}

// fields is a state.Map: each field is a row of its own, and expires on its own.
type fields[F, T any] struct {
	cell[row[T]]
	field serde.Serde[F]
}

func (m *fields[F, T]) at(f F) []byte {
	key, err := m.field.Append(append(m.buf[:0], m.key()...), f)
	if err != nil {
		Reject(fmt.Errorf("state %s: field: %w", m.name, err))
	}
	m.buf = key
	return key
}

func (m *fields[F, T]) Get(f F) (T, bool) {
	r, ok := m.get(m.at(f))
	if !ok || m.ttl.gone(r.t, m.now()) {
		return *new(T), false
	}
	return r.v, true
}

func (m *fields[F, T]) Set(f F, v T) {
	e := m.store.Entry(m.at(f))
	before, had := e.Get()
	m.set(e, row[T]{v, m.now()})
	m.written(m.buf, before.t, had)
}

func (m *fields[F, T]) Delete(f F) { m.remove(m.store.Entry(m.at(f))) }

func (m *fields[F, T]) All() iter.Seq2[F, T] {
	return func(yield func(F, T) bool) {
		prefix := append([]byte(nil), m.key()...)
		for k, r := range m.store.Prefix(prefix) {
			if m.ttl.gone(r.t, m.now()) {
				continue
			}
			f, err := m.field.Decode(k[len(prefix):])
			if err != nil {
				panic(fmt.Errorf("state %s: stored field %q: %w", m.name, k[len(prefix):], err))
			}
			if !yield(f, r.v) {
				return
			}
		}
	}
}

func (m *fields[F, T]) Clear() { m.removeAll(append([]byte(nil), m.key()...)) }
