package stream

import (
	"fmt"

	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

// Table reads a table: the latest value per key, a null value deletes. A record without a key is dropped and counted. Each update is
// passed on as it comes: a source has no emission policy.
//
// A table does not hold back the watermark unless it is [Versioned]: a dimension that rarely changes,
// or was loaded with old timestamps, must not stall windows.
func (b *Builder) Table[K, V any](src connector.Source[K, V], opts ...TableSourceOption) *Table[K, V] {
	o := collect(opts, func(o TableSourceOption, s *settings) { o.tableSource(s) })
	name := o.name
	n := addSource(b, src, o, true, func(in *instance, loop *input[K, V]) {
		next := changes[K, V](in)
		loop.row = func(c *task.Context, r *Record[K, V]) {
			next(c, r.Key, table.Change[V]{New: r.Value, HasNew: !r.Deleted})
		}
	})
	if name == "" {
		name = n.Name
	} else {
		n.Name += "-source"
	}
	key, value := serdesOf(src)
	if o.versioned < 0 {
		b.problem(o.line, fmt.Errorf("table %s: Versioned(%v) is negative", name, o.versioned))
	}
	o.emit = emission{when: onUpdate}
	t := upserted[K, V, table.Change[V]](b, "table", name+"-table", o, key, value, func(ch table.Change[V]) (V, bool) { return ch.New, ch.HasNew }, at(n))
	if o.ownTopic {
		fromTopic(t, n)
	}
	return t
}

// ToTable takes the latest value per key as a row.
func (s *Stream[K, V]) ToTable[S SliceOf[V]](opts ...TableOption) *Table[K, V] {
	o := tableOptions(opts)
	name := o.name
	if name == "" {
		name = base(s.node) + "-table"
	}
	s = partitioned(s, name, o)
	return upserted[K, V, V](s.b, "to-table", name, o, s.key, s.value, func(v V) (V, bool) { return v, true }, at(s.node))
}

// upserted makes a table of updates: of is what an update says of its row.
func upserted[K, V, U any](b *Builder, kind string, name string, o settings, key serde.Serde[K], value serde.Serde[V], of func(u U) (v V, ok bool), parent topology.Edge) *Table[K, V] {
	t := stored(b, topology.Kind(kind), name, o, key, value, func(in *instance, r *rows[K, V], e *emitter[K, V]) any {
		up := &upserter[K, V]{rows: r, emit: e, node: in.self(), reject: in.rejection(),
			noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key")}
		past := pastOf[K, V](in, in.node)
		return recv[K, U](func(c *task.Context, k K, u U) {
			v, ok := of(u)
			if past != nil && !c.NoKey && !past.add(up, c, k, v, ok) {
				return // not the latest of its key: it is history
			}
			up.apply(c, k, v, ok, c.Time)
		})
	}, parent)
	if o.versioned > 0 {
		specOf(t.node).stores = append(specOf(t.node).stores, storeSpec{name: name + pastSuffix, changelog: true})
		t.node.Stores = append(t.node.Stores, name+pastSuffix)
		specOf(t.node).opts.versioned = o.versioned
		n := t.node
		t.asOf = func(in *instance) asOf[K, V] { return pastOf[K, V](in, n).at }
	}
	return t
}

// An upserter changes the rows of a table and tells what is behind it.
type upserter[K, V any] struct {
	rows   *rows[K, V]
	emit   *emitter[K, V]
	node   *task.Node
	reject rejection
	noKey  func(int64)
}

// apply sets a row, or with has false deletes it: a row that is not there is not deleted again.
func (u *upserter[K, V]) apply(c *task.Context, k K, v V, has bool, time int64) {
	if c.NoKey {
		u.noKey(1)
		return
	}
	key, err := u.rows.encode(k)
	if err != nil {
		c.Fault = u.node
		u.reject(c, err, nil)
		return
	}
	e := u.rows.store.Entry(key)
	old, had := e.Get()
	switch {
	case has:
		u.rows.store.Set(e, row[V]{v, time})
	case had:
		u.rows.store.Remove(e)
	default:
		return
	}
	saved := c.Time
	c.Time = time
	u.emit.changed(c, k, e, old, had)
	c.Time = saved
}
