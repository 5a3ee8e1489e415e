package stream

import (
	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// An emitter sends the changes of a table's rows on as its policy says. It holds back output only: the rows themselves are as
// they are, so results do not depend on it, only the number of intermediate updates does.
type emitter[K, V any] struct {
	rows     *rows[K, V]
	next     recv[K, table.Change[V]]
	ctx      *task.Context
	eager    bool // OnUpdate
	needsOld bool
	keepOld  func(V) V // copies an old value before it is changed in place; nil for plain ones
}

func newEmitter[K, V any](in *instance, r *rows[K, V], e emission) *emitter[K, V] {
	em := &emitter[K, V]{rows: r, next: changes[K, V](in), ctx: &in.task.Context, eager: e.when == onUpdate, needsOld: needsOld(in.node)}
	if !em.eager {
		in.self().Hooks.Barrier = em.barrier
	}
	return em
}

// changed is called after an entry was set or removed. old is what it was; only its presence counts unless needsOld.
func (e *emitter[K, V]) changed(c *task.Context, k K, entry *overlay.Entry[row[V]], old row[V], had bool) {
	if !e.eager {
		return
	}
	ch := table.Change[V]{HadOld: had, HasNew: entry.Found()}
	if e.needsOld {
		ch.Old = old.v
	}
	if ch.HasNew {
		given := e.rows.store.Give(entry)
		ch.New = given.v
		t := c.Time
		c.Time = given.t
		e.next(c, k, ch)
		c.Time = t
		return
	}
	if had {
		e.next(c, k, ch)
	}
}

// barrier emits one change per row that was changed since the last checkpoint.
func (e *emitter[K, V]) barrier() {
	c := e.ctx
	c.Headers, c.Origin, c.NoKey, c.Raw = nil, connector.Origin{}, false, nil
	for ch := range e.rows.store.Changes() {
		out := table.Change[V]{New: ch.New.v, HadOld: ch.Had, HasNew: ch.Has, Old: ch.Old.v}
		c.Time = ch.New.t
		if !ch.Has {
			c.Time = ch.Old.t
		}
		e.next(c, e.rows.decode(ch.Key), out)
	}
}
