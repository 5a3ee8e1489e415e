package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

// GroupBy prepares an aggregation of rows by another key. It follows changes and deletions, which
// ToStream().GroupBy() does not: that one counts updates. A group whose last row has left keeps its row, a count of 0 for one; a Filter
// behind the aggregate takes such rows back.
func (t *Table[K, V]) GroupBy[K2, V2 any](f func(k K, v V) (K2, V2), opts ...RepartitionOption) *GroupedTable[K2, V2] {
	o := repartitionOptions(opts)
	op := &operator{needsOld: true, make: func(in *instance) any {
		next, g := outs[K2, table.Change[V2]](in), in.guard()
		return recv[K, table.Change[V]](func(c *task.Context, k K, ch table.Change[V]) {
			var from, to K2
			var out table.Change[V2]
			out.HadOld = ch.HadOld && g.old(c, func() { from, out.Old = f(k, ch.Old) })
			out.HasNew = ch.HasNew && g.new(c, func() { to, out.New = f(k, ch.New) })
			if out.HadOld && out.HasNew && sameKey(from, to) { // one update: no sum in between is seen
				keyed(c, next, to, out)
				return
			}
			if out.HadOld {
				keyed(c, next, from, table.Change[V2]{Old: out.Old, HadOld: true})
			}
			if out.HasNew {
				keyed(c, next, to, table.Change[V2]{New: out.New, HasNew: true})
			}
		})
	}}
	by := o
	by.name = ""
	n := t.b.add("group-rows", by, op, at(t.node))
	return &GroupedTable[K2, V2]{b: t.b, node: n, o: o, key: keep[K2](t.key), value: keep[V2](t.value)}
}

// sameKey compares keys of any type: slices, which == cannot, are keys too.
func sameKey[K any](a, b K) bool {
	if reflect.ValueOf(&a).Elem().Comparable() && reflect.ValueOf(&b).Elem().Comparable() {
		return any(a) == any(b)
	}
	return reflect.DeepEqual(a, b)
}

// A GroupedTable is a table about to be aggregated by another key.
type GroupedTable[K, V any] struct {
	b     *Builder
	node  *topology.Node
	o     settings
	key   serde.Serde[K]
	value serde.Serde[V]
}

// KeySerde is described at Stream.
func (g *GroupedTable[K, V]) KeySerde(k serde.Serde[K]) *GroupedTable[K, V] {
	c := *g
	c.key = k
	return &c
}

// ValueSerde is described at Stream.
func (g *GroupedTable[K, V]) ValueSerde(v serde.Serde[V]) *GroupedTable[K, V] {
	c := *g
	c.value = v
	return &c
}

// Count counts rows.
func (g *GroupedTable[K, V]) Count[S SliceOf[V]](opts ...TableOption) *Table[K, int64] {
	return regroup(g, "count", false, serde.Int64, tableOptions(opts), func(_ K, ch table.Change[V], n int64, _ bool) int64 {
		if ch.HadOld {
			n--
		}
		if ch.HasNew {
			n++
		}
		return n
	})
}

// Aggregate folds rows in with add and takes them out again with sub. Of an update within one group sub comes first. A row that add
// rejects is not in the group, and is not taken out of it later; one that sub rejects stays in.
func (g *GroupedTable[K, V]) Aggregate[R any](init func() R, add, sub func(k K, v V, r R) R, opts ...TableOption) *Table[K, R] {
	return regroup(g, "aggregate", true, nil, tableOptions(opts), func(k K, ch table.Change[V], r R, had bool) R {
		if !had {
			r = init()
		}
		if ch.HadOld && had {
			r = sub(k, ch.Old, r)
		}
		if ch.HasNew {
			r = add(k, ch.New, r)
		}
		return r
	})
}

// Reduce is Aggregate with values for aggregates; its first value is taken as it is.
func (g *GroupedTable[K, V]) Reduce[S SliceOf[V]](add, sub func(a, b V) V, opts ...TableOption) *Table[K, V] {
	return regroup(g, "reduce", true, g.value, tableOptions(opts), func(_ K, ch table.Change[V], r V, had bool) V {
		switch {
		case !had:
			return ch.New
		case ch.HadOld:
			r = sub(r, ch.Old)
		}
		if ch.HasNew {
			r = add(r, ch.New)
		}
		return r
	})
}

// TopN keeps the n greatest rows per key; it stores them all to replace one that is deleted.
func (g *GroupedTable[K, V]) TopN[S SliceOf[V]](n int, compare func(a, b V) int, opts ...TableOption) *Table[K, S] {
	g.b.atLeastOne("TopN", n)
	same := func(a, b V) bool { return compare(a, b) == 0 && sameBytes(orFor(g.value), a, b) }
	all := regroup(g, "top", true, topSerde[V, S](g.value), tableOptions(opts), func(_ K, ch table.Change[V], rows S, _ bool) S {
		if ch.HadOld {
			if i := slices.IndexFunc(rows, func(v V) bool { return same(v, ch.Old) }); i >= 0 {
				rows = slices.Delete(rows, i, i+1)
			}
		}
		if ch.HasNew {
			i, _ := slices.BinarySearchFunc(rows, ch.New, func(in, v V) int {
				if compare(in, v) >= 0 {
					return -1
				}
				return 1
			})
			rows = slices.Insert(rows, i, ch.New)
		}
		return rows
	})
	return all.MapValues(func(rows S) S { return rows[:min(n, len(rows)):min(n, len(rows))] })
}

// sameBytes compares two values as they are encoded.
func sameBytes[V any](s serde.Serde[V], a, b V) bool {
	x, errX := s.Append(nil, a)
	y, errY := s.Append(nil, b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// regroup makes the table of a fold over changes, behind an exchange that brings those of one group together. asks says that the fold calls
// functions of the user, which may reject a row.
func regroup[K, V, R any](g *GroupedTable[K, V], kind topology.Kind, asks bool, value serde.Serde[R], o settings, fold func(k K, ch table.Change[V], r R, had bool) R) *Table[K, R] {
	name := o.name
	if name == "" {
		name = base(g.node) + "-" + string(kind)
	}
	through := name
	if g.o.name != "" {
		through = g.o.name
	}
	in := exchange(g.b, g.node, through, g.o, g.key, bindChange(g.value))
	from := in
	t := stored(g.b, kind, name, o, g.key, value, func(in *instance, r *rows[K, R], e *emitter[K, R]) any {
		a := &regrouper[K, V, R]{rows: r, emit: e, fold: fold, node: in.self(), reject: in.rejection(), plain: serde.Plain[R]()}
		if asks && !in.failing() {
			a.refused, a.quiet = newRefused[K, V](in, from, name), outagesOnly(a.reject)
		}
		return recv[K, table.Change[V]](a.receive)
	}, at(in))
	if asks {
		op := specOf(t.node)
		op.stores = append(op.stores, refusedStore(name))
	}
	return t
}

// A regrouper folds changes into rows. A group that becomes empty keeps its row.
type regrouper[K, V, R any] struct {
	rows   *rows[K, R]
	emit   *emitter[K, R]
	fold   func(k K, ch table.Change[V], r R, had bool) R
	node   *task.Node
	reject rejection
	plain  bool
	// where its functions may reject
	refused *refused[V]
	quiet   rejection
}

func (a *regrouper[K, V, R]) receive(c *task.Context, k K, ch table.Change[V]) {
	c.Fault = a.node
	key, err := a.rows.encode(k)
	if err != nil {
		a.reject(c, err, nil)
		return
	}
	if a.refused != nil && ch.HadOld {
		taken := false
		if !try(c, a.node, a.reject, func() { taken = a.refused.take(key, ch.Old) }) {
			return
		}
		if taken {
			ch.Old, ch.HadOld = *new(V), false
		}
	}
	if !ch.HadOld && !ch.HasNew {
		return
	}
	if f, ok := a.attempt(c, a.reject, key, k, ch); ok {
		a.set(c, k, f)
	} else if a.refused != nil && ch.HasNew {
		a.refuse(c, key, k, ch)
	}
}

// A regrouped is what a change makes of its group's row.
type regrouped[R any] struct {
	e      *overlay.Entry[row[R]]
	before overlay.Saved[row[R]]
	r      R
	old    row[R]
	had    bool
	none   bool // there is nothing to take the old row out of
}

// attempt folds, or leaves the accumulator as it was.
func (a *regrouper[K, V, R]) attempt(c *task.Context, reject rejection, key []byte, k K, ch table.Change[V]) (f regrouped[R], ok bool) {
	store := a.rows.store
	ok = folding(c, a.node, reject, a.refused != nil, func() bool { return store.PutBack(f.before) }, func() {
		f.e = store.Entry(key)
		f.old, f.had = f.e.Get()
		if f.none = !f.had && !ch.HasNew; f.none {
			return
		}
		if a.emit.wantsOld() && f.had && !a.plain {
			f.old = store.Copy(f.old)
		}
		f.before = store.Hold(f.e, a.refused != nil)
		f.r = a.fold(k, ch, f.e.Value.v, f.had)
	})
	return f, ok
}

func (a *regrouper[K, V, R]) set(c *task.Context, k K, f regrouped[R]) {
	if f.none {
		return
	}
	a.rows.set(c, f.e, f.r, f.old, f.had)
	a.emit.changed(c, k, f.e, f.old, f.had)
}

// A changeSerde encodes changes on their way through a repartition: flags, the old value behind its length, the new one.
type changeSerde[V any] struct{ value serde.Serde[V] }

// bindChange binds the serde of changes of values.
func bindChange[V any](value serde.Serde[V]) func(b *binding) (serde.Serde[table.Change[V]], error) {
	return func(b *binding) (serde.Serde[table.Change[V]], error) {
		v, err := bindInternal(b, value, false)
		return changeSerde[V]{v}, err
	}
}

func (s changeSerde[V]) Append(dst []byte, c table.Change[V]) ([]byte, error) {
	flags := byte(0)
	if c.HadOld {
		flags |= 1
	}
	if c.HasNew {
		flags |= 2
	}
	dst = append(dst, flags)
	if c.HadOld {
		at := len(dst)
		out, err := s.value.Append(append(dst, 0, 0, 0, 0), c.Old)
		if err != nil {
			return dst, fmt.Errorf("old value: %w", err)
		}
		dst = out
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	if c.HasNew {
		return s.value.Append(dst, c.New)
	}
	return dst, nil
}

var errChange = errors.New("a change is cut short")

func (s changeSerde[V]) Decode(b []byte) (c table.Change[V], err error) {
	if len(b) == 0 {
		return c, errChange
	}
	c.HadOld, c.HasNew, b = b[0]&1 != 0, b[0]&2 != 0, b[1:]
	if c.HadOld {
		if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
			return c, errChange
		}
		n := binary.BigEndian.Uint32(b)
		if c.Old, err = s.value.Decode(b[4 : 4+n]); err != nil {
			return c, fmt.Errorf("old value: %w", err)
		}
		b = b[4+n:]
	}
	if c.HasNew {
		c.New, err = s.value.Decode(b)
	}
	return c, err
}

func (s changeSerde[V]) Format() string { return "change/1:" + s.value.Format() }
