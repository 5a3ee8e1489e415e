package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
)

// JoinTable looks up each record's key in t, as t is then; with a [Versioned] t, as it was at the record's time.
func (s *Stream[K, V]) JoinTable[V2, R any](t *Table[K, V2], f func(v V, v2 V2) R, opts ...JoinTableOption) *Stream[K, R] {
	return joinTable(s, t, false, func(v V, v2 V2, _ bool) R { return f(v, v2) }, opts)
}

// LeftJoinTable keeps records without a row, ok false; so it does records without a key.
func (s *Stream[K, V]) LeftJoinTable[V2, R any](t *Table[K, V2], f func(v V, v2 V2, ok bool) R, opts ...JoinTableOption) *Stream[K, R] {
	return joinTable(s, t, true, f, opts)
}

func joinTable[K, V, V2, R any](s *Stream[K, V], t *Table[K, V2], left bool, f func(v V, v2 V2, ok bool) R, opts []JoinTableOption) *Stream[K, R] {
	o := collect(opts, func(o JoinTableOption, s *settings) { o.joinTable(s) })
	if o.name == "" {
		o.name = base(s.node) + "-join-" + t.node.Name
	}
	switch {
	case o.waitFor < 0:
		s.b.problem(o.line, fmt.Errorf("WaitFor(%v) is negative", o.waitFor))
	case o.waitFor > 0 && t.asOf == nil:
		s.b.problem(o.line, fmt.Errorf("WaitFor needs a Versioned table: %s only knows its rows as they are now", t.node.Name))
	case o.waitFor > specOf(t.node).opts.versioned && t.asOf != nil:
		s.b.problem(o.line, fmt.Errorf("WaitFor(%v) is longer than the history of table %s, %v", o.waitFor, t.node.Name, specOf(t.node).opts.versioned))
	}
	s = partitioned(s, o.name, o)
	op := &operator{keepsKey: o.waitFor == 0}
	wait := o.name + "-wait"
	if o.waitFor > 0 {
		op.headers, op.bind, op.stores = true, bindRows(s.key, s.value), []storeSpec{{name: wait, changelog: true}}
	}
	op.make = func(in *instance) any {
		j := &tableJoiner[K, V, V2, R]{get: t.finder(in), left: left, f: f, next: outs[K, R](in), node: in.self(), reject: in.rejection(), guarded: !in.failing(),
			noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key")}
		if t.near != nil {
			looksAhead(in, t.near(in), nil)
		}
		changes := recv[K, table.Change[V2]](func(*task.Context, K, table.Change[V2]) {})
		if o.waitFor == 0 {
			return []any{recv[K, V](j.receive), changes}
		}
		b := bound[*rowSerdes[K, V]](in)
		w := &detained[K, V]{node: j.node, wait: o.waitFor.Milliseconds(), then: j.receive, first: task.MaxTime,
			store: openStore(in, "wait", wait, serde.Bytes, callSerde[K, V]{b.key, b.value}, false, nil, false)}
		w.node.Hooks.Watermark, w.node.Hooks.Start = w.due, w.start
		return []any{recv[K, V](w.receive), changes}
	}
	n := s.b.add("join-table", o, op, at(s.node), topology.Edge{Node: t.node, Port: 1})
	for _, st := range op.stores {
		n.Stores = append(n.Stores, st.name)
	}
	return then[K, V, K, R](s, n, false)
}

// finder is how a stream looks a row up: as of the record's time where the table is versioned, else as it is now.
func (t *Table[K, V]) finder(in *instance) func(c *task.Context, k K) (V, bool) {
	if t.asOf != nil {
		get := t.asOf(in)
		return func(c *task.Context, k K) (V, bool) {
			v, _, ok := get(k, c.Time)
			return v, ok
		}
	}
	get := t.lookup(in)
	return func(_ *task.Context, k K) (V, bool) {
		v, _, ok := get(k)
		return v, ok
	}
}

// A tableJoiner joins records with rows. The result keeps the record's time.
type tableJoiner[K, V, V2, R any] struct {
	get     func(c *task.Context, k K) (V2, bool)
	left    bool
	f       func(v V, v2 V2, ok bool) R
	next    recv[K, R]
	node    *task.Node
	reject  rejection
	guarded bool
	noKey   func(int64)
}

func (j *tableJoiner[K, V, V2, R]) receive(c *task.Context, k K, v V) {
	var v2 V2
	ok := false
	if !c.NoKey {
		v2, ok = j.get(c, k)
	} else if !j.left {
		j.noKey(1)
		return
	}
	if !ok && !j.left {
		return
	}
	if !j.guarded {
		c.Fault = j.node
		j.next(c, k, j.f(v, v2, ok))
		return
	}
	var r R
	if try(c, j.node, j.reject, func() { r = j.f(v, v2, ok) }) {
		j.next(c, k, r)
	}
}

// A detained holds records back for some event time before they look a versioned table up: so the table has what was valid then. A
// record that is older than that already does not wait.
type detained[K, V any] struct {
	node  *task.Node
	wait  int64
	then  recv[K, V]
	store *overlay.Store[callRow[K, V]]
	seq   int64
	first int64 // the earliest time that is held back
	buf   []byte
}

func (w *detained[K, V]) receive(c *task.Context, k K, v V) {
	if c.Time+w.wait <= w.node.In() {
		w.then(c, k, v)
		return
	}
	w.seq++
	w.buf = keys.AppendTime(keys.AppendTime(w.buf[:0], c.Time), w.seq)
	w.store.Put(w.buf, callRow[K, V]{k: k, v: v, time: c.Time, headers: c.Headers, origin: c.Origin, noKey: c.NoKey})
	w.hold(c.Time)
}

func (w *detained[K, V]) hold(t int64) {
	if t < w.first {
		w.first = t
		w.node.At(t + w.wait)
		w.node.Hold(t)
	}
}

// due sends on the records that have waited long enough, in the order of their times.
func (w *detained[K, V]) due(mark int64) {
	limit := mark
	if mark != task.MaxTime {
		limit = mark - w.wait + 1
	}
	var places [][]byte
	for place := range w.store.Range(nil, keys.AppendTime(nil, limit)) {
		places = append(places, append([]byte(nil), place...))
	}
	c := &w.node.Task().Context
	saved := *c
	for _, place := range places {
		e := w.store.Entry(place)
		r := w.store.Give(e)
		w.store.Remove(e)
		c.Time, c.Headers, c.Origin, c.NoKey, c.Raw = r.time, r.headers, r.origin, r.noKey, nil
		w.then(c, r.k, r.v)
	}
	*c = saved
	w.arm()
}

// arm asks for the time of the earliest record that waits.
func (w *detained[K, V]) arm() {
	w.first = task.MaxTime
	w.node.Hold(task.MaxTime)
	for place := range w.store.Range(nil, nil) {
		if t, _, err := keys.CutTime(place); err == nil {
			w.hold(t)
		}
		return
	}
}

// start goes on numbering behind every record that waits: one of the same time and number would take another's place.
func (w *detained[K, V]) start() error {
	for place := range w.store.Range(nil, nil) {
		_, rest, err := keys.CutTime(place)
		if err != nil {
			return fmt.Errorf("stored record %q: %w", place, err)
		}
		seq, _, err := keys.CutTime(rest)
		if err != nil {
			return fmt.Errorf("stored record %q: %w", place, err)
		}
		w.seq = max(w.seq, seq)
	}
	w.arm()
	return nil
}
