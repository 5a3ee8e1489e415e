package stream

import (
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

// A Table is the latest value per key: every row can be changed and deleted later, and the operators follow that.
//
// Between its operators travel changes: recv[K, table.Change[V]], the context's time being that of the update. An old value is
// there only where needsOld says that somebody downstream looks at it.
type Table[K, V any] struct {
	b     *Builder
	node  *topology.Node
	key   serde.Serde[K]
	value serde.Serde[V]
	// lookup makes the reader of the table's rows in a task of its sub-topology, as they are now.
	lookup func(in *instance) lookup[K, V]
	// asOf makes the reader of rows as they were; nil unless the table is Versioned.
	asOf func(in *instance) asOf[K, V]
	// scan makes what iterates over them; nil for a table that keeps none.
	scan func(in *instance) scanner[K, V]
	// near makes what is told of keys whose rows will be looked up next; nil where they are not rows of its own.
	near func(in *instance) ahead[K]
	// forms are those of its keys.
	forms func(p *program) *keyForms[K]
}

// A lookup finds the row of a key now, its time with it. The value is the caller's.
type lookup[K, V any] func(k K) (v V, t int64, ok bool)

// KeySerde says how the table's keys are stored.
func (t *Table[K, V]) KeySerde(k serde.Serde[K]) *Table[K, V] {
	c := *t
	c.key = k
	t.restore(k, nil)
	return &c
}

// ValueSerde says how the table's values are stored.
func (t *Table[K, V]) ValueSerde(v serde.Serde[V]) *Table[K, V] {
	c := *t
	c.value = v
	t.restore(nil, v)
	return &c
}

// restore changes the serdes of the store that the table was made with: KeySerde and ValueSerde are said behind the operator.
func (t *Table[K, V]) restore(k serde.Serde[K], v serde.Serde[V]) {
	op := specOf(t.node)
	if op.reserde == nil {
		return
	}
	op.reserde(k, v)
}

// stored makes a table whose node owns a store of rows. make returns the node's receivers.
func stored[K, V any](b *Builder, kind topology.Kind, name string, o settings, key serde.Serde[K], value serde.Serde[V],
	make func(in *instance, r *rows[K, V], e *emitter[K, V]) any, parents ...topology.Edge) *Table[K, V] {
	o.name = name
	op := &operator{bind: bindRows(key, value), stores: rowStores(name, o.emit), patience: task.MaxTime, keepsKey: o.emit.when == onUpdate}
	op.make = func(in *instance) any {
		r := rowsOf[K, V](in, in.node)
		looksAhead(in, r.near())
		return make(in, r, newEmitter(in, r, o.emit))
	}
	op.reserde = func(k, v any) {
		if k, ok := k.(serde.Serde[K]); ok && k != nil {
			key = k
		}
		if v, ok := v.(serde.Serde[V]); ok && v != nil {
			value = v
		}
		op.bind = bindRows(key, value)
	}
	n := b.add(kind, o, op, parents...)
	n.Stores, n.Table = namesOf(op.stores), true
	return &Table[K, V]{b: b, node: n, key: key, value: value, lookup: func(in *instance) lookup[K, V] { return rowsOf[K, V](in, n).get }, scan: scanRows[K, V](n),
		near:  func(in *instance) ahead[K] { return rowsOf[K, V](in, n).near() },
		forms: func(p *program) *keyForms[K] { return plainForms(p.results[n].(*rowSerdes[K, V]).key) }}
}

// needsOld reports whether anything behind a table's node looks at old values.
func needsOld(n *topology.Node) bool {
	for _, c := range n.Children() {
		op := specOf(c.Node)
		if op.needsOld || c.Node.Table && len(c.Node.Stores) == 0 && needsOld(c.Node) {
			return true
		}
	}
	return false
}

// lookedUp reports whether a join behind a table's node reads rows of it. A join sees a row before it is emitted. When that row is gone again, or filtered
// out, there is nothing to emit, and the join has a result that nobody takes back; so it gets a change from nothing to nothing, and looks
// again. All others ignore those.
func lookedUp(n *topology.Node) bool {
	for _, c := range n.Children() {
		if specOf(c.Node).looksUp || c.Node.Table && len(c.Node.Stores) == 0 && lookedUp(c.Node) {
			return true
		}
	}
	return false
}

// changes is the receiver of everything behind a table's node.
func changes[K, V any](in *instance) recv[K, table.Change[V]] { return outs[K, table.Change[V]](in) }
