package stream

import (
	"encoding/binary"
	"errors"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

// pendingStore is the name of the store in which a node with Every notes what it has not emitted yet. It is state: an update that
// waits when a checkpoint commits comes out after a crash, without another update of its row.
func pendingStore(name string) string { return name + "-pending" }

// A waiting is a row with an update that was not emitted: what it was when it was emitted last.
type waiting[V any] struct {
	t   int64 // of the first update that waits
	old V     // where it is wanted
	had bool  // there was a row
	has bool  // old is kept
}

// A waitingSerde encodes waitings: a byte of flags, eight of time, the old value.
type waitingSerde[V any] struct{ value serde.Serde[V] }

const (
	waitingHad = 1 << iota
	waitingOld
)

func (s waitingSerde[V]) Append(dst []byte, w waiting[V]) ([]byte, error) {
	flags := byte(0)
	if w.had {
		flags |= waitingHad
	}
	if !w.has {
		return binary.BigEndian.AppendUint64(append(dst, flags), uint64(w.t)), nil
	}
	return s.value.Append(binary.BigEndian.AppendUint64(append(dst, flags|waitingOld), uint64(w.t)), w.old)
}

func (s waitingSerde[V]) Decode(b []byte) (w waiting[V], err error) {
	if len(b) < 9 {
		return w, errors.New("a pending update has less than its flags and time")
	}
	w.had, w.has = b[0]&waitingHad != 0, b[0]&waitingOld != 0
	w.t = int64(binary.BigEndian.Uint64(b[1:]))
	if w.has {
		w.old, err = s.value.Decode(b[9:])
	}
	return w, err
}

func (s waitingSerde[V]) Format() string { return "pending/1:" + s.value.Format() }

// pendings are the updates of a node that wait for its clock.
type pendings[V any] struct {
	store   *overlay.Store[waiting[V]]
	node    *task.Node
	every   int64
	ticking bool // the clock was asked
	buf     []byte
}

// withEvery makes the emitter one of Every.
func (e *emitter[K, V]) withEvery(in *instance, ms int64) {
	s := in.results[in.node].(*rowSerdes[K, V])
	e.pending = &pendings[V]{node: in.self(), every: ms,
		store: openStore(in, "pending", pendingStore(in.node.Stores[0]), s.key, waitingSerde[V]{s.value}, serde.Plain[V](), nil, false)}
	hooks := &in.self().Hooks
	hooks.Start = e.resume
	hooks.Clock = func(int64) { e.tick() }
	hooks.Barrier = func() {
		if e.node.In() == task.MaxTime {
			e.tick() // the input has ended: there is no later
		}
	}
}

// add notes an update.
func (p *pendings[V]) add(key []byte, w waiting[V]) {
	if e := p.store.Entry(key); !e.Found() {
		p.store.Set(e, w)
	}
	if !p.ticking {
		p.ticking = true
		p.node.AtClock(p.node.Task().Now() + p.every)
	}
}

// wait notes that a row has an update to emit, and what it was before.
func (e *emitter[K, V]) wait(entry *overlay.Entry[row[V]], old row[V], had bool) {
	p := e.pending
	p.buf = e.rows.store.Key(p.buf[:0], entry)
	w := waiting[V]{t: e.ctx.Time, had: had}
	if had && e.needsOld {
		w.old, w.has = old.v, true
	}
	p.add(p.buf, w)
}

// tick emits one change per row that has waited.
func (e *emitter[K, V]) tick() {
	p, c := e.pending, e.ctx
	p.ticking = false
	alone(c)
	for key, w := range p.store.Range(nil, nil) {
		r, found := e.rows.store.Lookup(key)
		if c.Time = r.t; !found {
			c.Time = w.t
		}
		if found || w.had || e.lookedUp {
			e.next(c, e.rows.decode(key), table.Change[V]{Old: w.old, New: r.v, HadOld: w.had, HasNew: found})
		}
		p.store.Delete(key)
	}
	e.release()
}

// resume goes on after a restart with what waited at the last checkpoint.
func (e *emitter[K, V]) resume() error {
	p := e.pending
	for _, w := range p.store.Range(nil, nil) {
		e.hold = min(e.hold, w.t)
	}
	if e.hold != task.MaxTime {
		e.node.Hold(e.hold)
		p.ticking = true
		p.node.AtClock(p.node.Task().Now() + p.every)
	}
	return nil
}
