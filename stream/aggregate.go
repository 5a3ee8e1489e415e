package stream

import (
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
)

// Aggregate folds the values of a key into an R. add may change r in place and return it. What leaves the operator is a
// snapshot: an R that holds maps, slices or pointers is copied when it is emitted, by its own Clone() R if it has one, else through its serde.
func (g *Grouped[K, V]) Aggregate[R any](init func() R, add func(k K, v V, r R) R, opts ...TableOption) *Table[K, R] {
	return aggregate(g, "aggregate", nil, tableOptions(opts), func(k K, v V, r R, had bool) R {
		if !had {
			r = init()
		}
		return add(k, v, r)
	})
}

// aggregate makes the table of a fold. had says whether there is an aggregate already.
func aggregate[K, V, R any](g *Grouped[K, V], kind topology.Kind, value serde.Serde[R], o settings, fold func(k K, v V, r R, had bool) R) *Table[K, R] {
	name := g.name(o, string(kind))
	s := groupedBy(g, name)
	return stored(s.b, kind, name, o, s.key, value, func(in *instance, r *rows[K, R], e *emitter[K, R]) any {
		return newAggregator(in, r, e, fold).receive
	}, at(s.node))
}

// newAggregator makes the one of the node being made.
func newAggregator[K, V, R any](in *instance, r *rows[K, R], e *emitter[K, R], fold func(k K, v V, r R, had bool) R) *aggregator[K, V, R] {
	return &aggregator[K, V, R]{rows: r, emit: e, fold: fold, node: in.self(), reject: in.rejection(), guarded: !in.failing(), plain: serde.Plain[R](),
		noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key")}
}

// An aggregator folds records into rows.
type aggregator[K, V, R any] struct {
	rows    *rows[K, R]
	emit    *emitter[K, R]
	fold    func(k K, v V, r R, had bool) R
	node    *task.Node
	reject  rejection
	guarded bool // its policy is not Fail
	plain   bool
	noKey   func(int64)
}

func (a *aggregator[K, V, R]) receive(c *task.Context, k K, v V) {
	if c.NoKey {
		a.noKey(1)
		return
	}
	c.Fault = a.node
	key, err := a.rows.encode(k)
	if err != nil {
		a.reject(c, err, nil)
		return
	}
	var e *overlay.Entry[row[R]]
	var old row[R]
	var had bool
	var before overlay.Saved[row[R]]
	var r R
	store := a.rows.store
	if folding(c, a.node, a.reject, a.guarded, func() bool { return store.PutBack(before) }, func() {
		e = store.Entry(key)
		if old, had = e.Get(); a.emit.wantsOld() && had && !a.plain {
			old = store.Copy(old) // fold may change it in place
		}
		before = store.Hold(e, a.guarded)
		r = a.fold(k, v, e.Value.v, had)
	}) {
		a.set(c, k, e, r, old, had)
	}
}

func (a *aggregator[K, V, R]) set(c *task.Context, k K, e *overlay.Entry[row[R]], r R, old row[R], had bool) {
	a.rows.set(c, e, r, old, had)
	a.emit.changed(c, k, e, old, had)
}
