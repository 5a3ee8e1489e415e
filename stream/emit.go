package stream

import (
	"github.com/weirstream/weir/connector"
	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/table"
)

// An emitter sends the changes of a table's rows on as its policy says. It holds back output only: the rows themselves are as
// they are, so results do not depend on it, only the number of intermediate updates does.
//
// What is held back holds the node's output watermark back with it: a window behind the table must not take it for late.
type emitter[K, V any] struct {
	rows     *rows[K, V]
	next     recv[K, table.Change[V]]
	ctx      *task.Context
	node     *task.Node
	when     emitWhen
	eager    bool // OnUpdate
	needsOld bool
	lookedUp bool         // see lookedUp
	hold     int64        // the earliest time of what is held back
	gone     int64        // the latest time of a deletion that is held back
	pending  *pendings[V] // of Every
	flushed  func()       // called when nothing is held back any more; nil: nobody wants to know
}

// newEmitter makes the one of the node being made, whose default is to emit at checkpoints.
func newEmitter[K, V any](in *instance, r *rows[K, V], e emission) *emitter[K, V] {
	return emitterTo(in, r, changes[K, V](in), e, needsOld(in.node))
}

// emitterTo is newEmitter where a row is not what is emitted.
func emitterTo[K, V any](in *instance, r *rows[K, V], next recv[K, table.Change[V]], e emission, needsOld bool) *emitter[K, V] {
	em := &emitter[K, V]{rows: r, next: next, ctx: &in.task.Context, node: in.self(), when: e.when,
		eager: e.when == onUpdate, needsOld: needsOld, lookedUp: lookedUp(in.node), hold: task.MaxTime, gone: task.MinTime}
	hooks := &in.self().Hooks
	switch e.when {
	case byDefault, onCheckpoint:
		em.when = onCheckpoint
		hooks.Barrier = em.barrier
	case everyPeriod:
		em.withEvery(in, e.every.Milliseconds())
	}
	return em
}

// wantsOld reports whether changed has to be given what a row was before, and not only that it was there.
func (e *emitter[K, V]) wantsOld() bool {
	return e.needsOld && (e.eager || e.when == everyPeriod)
}

// changed is called after an entry was set or removed. old is what it was; only its presence counts unless wantsOld.
func (e *emitter[K, V]) changed(c *task.Context, k K, entry *overlay.Entry[row[V]], old row[V], had bool) {
	switch e.when {
	case onUpdate:
		e.send(c, k, entry, old, had)
	case onCheckpoint:
		e.holdFor(c, entry)
	case everyPeriod:
		e.holdFor(c, entry)
		e.wait(entry, old, had)
	}
}

// send emits a change at once.
func (e *emitter[K, V]) send(c *task.Context, k K, entry *overlay.Entry[row[V]], old row[V], had bool) {
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

// holdFor holds the watermark at the time of a change that is not emitted yet.
func (e *emitter[K, V]) holdFor(c *task.Context, entry *overlay.Entry[row[V]]) {
	t := c.Time
	if entry.Found() {
		t = entry.Value.t
	} else {
		e.gone = max(e.gone, t)
	}
	if t < e.hold {
		e.hold = t
		e.node.Hold(t)
	}
}

// idle reports whether rows may go without being taken for deleted.
func (e *emitter[K, V]) idle() bool {
	return e.when != onCheckpoint && e.hold == task.MaxTime
}

// waits reports whether a row was changed, or may have been, since it was emitted last.
func (e *emitter[K, V]) waits(key []byte) bool {
	switch e.when {
	case onCheckpoint:
		return true // its removal would be taken for a deletion before the next checkpoint
	case everyPeriod:
		_, ok := e.pending.store.Get(key)
		return ok
	}
	return false
}

// release says that nothing is held back any more.
func (e *emitter[K, V]) release() {
	if e.flushed != nil {
		e.flushed()
	}
	e.hold, e.gone = task.MaxTime, task.MinTime
	e.node.Hold(task.MaxTime)
}

// barrier emits one change per row that was changed since the last checkpoint.
func (e *emitter[K, V]) barrier() {
	c := e.ctx
	alone(c)
	for ch := range e.rows.store.Changes() {
		if !ch.Has && !ch.Had && !e.lookedUp {
			continue
		}
		out := table.Change[V]{New: ch.New.v, HadOld: ch.Had, HasNew: ch.Has, Old: ch.Old.v}
		c.Time = ch.New.t
		if !ch.Has {
			c.Time = e.gone
		}
		e.next(c, e.rows.decode(ch.Key), out)
	}
	e.release()
}

// alone clears the context of what belongs to a record: results of time belong to none.
func alone(c *task.Context) {
	c.Headers, c.Origin, c.NoKey, c.Raw = nil, connector.Origin{}, false, nil
}
