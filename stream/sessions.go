package stream

import (
	"slices"
	"time"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// visits are the sessions of a session table in one task. A key's sessions are one row, which a record finds at once; dues say when
// they close.
type visits[K, R any, WK window.KeyOf[K]] struct {
	rows    *rows[K, visit[R]]
	emit    *emitter[K, visit[R]]
	results recv[WK, table.Change[R]]
	dues    *dues
	ctx     *task.Context
	node    *task.Node
	spec    span.Sessions
	merge   func(k K, a, b R) R
	retain  int64
	varies  bool // gaps are per record
	maxGap  int64
	final   bool // results are emitted when they close
	guarded bool // its policy is not Fail
	plain   bool // aggregates are never changed in place
	reject  rejection
	noKey   func(int64)

	closing visit[R] // what the key at hand has to emit
	drops   []string // keys with closed sessions that stay until they are emitted
}

// newVisits makes those of the node being made.
func newVisits[K, R any, WK window.KeyOf[K]](in *instance, spec span.Sessions, o settings, merge func(k K, a, b R) R) *visits[K, R, WK] {
	r := rowsOf[K, visit[R]](in, in.node)
	results := changes[WK, R](in)
	s := &visits[K, R, WK]{rows: r, results: results, ctx: &in.task.Context, node: in.self(), spec: spec, merge: merge,
		retain: o.retain.Milliseconds(), final: o.emit.when == onClose, guarded: !in.failing(), reject: in.rejection(), plain: serde.Plain[R](),
		noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key")}
	s.emit = emitterTo(in, r, perSession[K, R, WK](results), o.emit, true)
	s.emit.flushed = s.drop
	s.dues = openDues(in, spec.Gap+spec.Grace, r.key)
	s.dues.next, s.dues.fire = s.next, s.fire
	hooks := &s.node.Hooks
	hooks.Watermark = s.dues.advance
	hooks.Start = chain(s.start, hooks.Start)
	r.store.Behind(func(list row[visit[R]]) uint32 { return touchLast(list.v) })
	looksAhead(in, r.near())
	return s
}

// start goes on with what the last checkpoint has.
func (s *visits[K, R, WK]) start() error {
	s.maxGap = s.spec.Gap
	if s.varies {
		s.maxGap = max(s.dues.noted(), 0)
	}
	s.delay()
	s.dues.start()
	return nil
}

// delay: results that come on close are as old as the gap and the grace together.
func (s *visits[K, R, WK]) delay() {
	if s.final {
		s.node.Delay(span.Add(s.maxGap, s.spec.Grace))
	}
}

// reaches notes the gap of a record, where gaps vary.
func (s *visits[K, R, WK]) reaches(gap int64) {
	if gap > s.maxGap {
		s.maxGap = gap
		s.dues.note(gap)
		s.delay()
	}
}

// open reports whether a session takes records at the watermark.
func (s *visits[K, R, WK]) open(x *session[R], w int64) bool {
	return !x.closed && !span.Closed(s.spec.Close(x.Session), w)
}

// touched are the sessions [from, to) of a visit that a record's session makes one: they lie side by side among those that are open.
func (s *visits[K, R, WK]) touched(list visit[R], lone span.Session, w int64) (from, to int) {
	from, to = -1, -1
	for i := range list {
		if !s.open(&list[i], w) {
			continue
		}
		if lone.Touches(list[i].Session) {
			if from < 0 {
				from = i
			}
			to = i + 1
		}
	}
	return from, to
}

// next is when a session of the key closes next, or is dropped.
func (s *visits[K, R, WK]) next(key []byte) (at int64, ok bool) {
	r, _ := s.rows.store.Get(key)
	for i := range r.v {
		x := &r.v[i]
		due := s.spec.Close(x.Session)
		switch {
		case x.closed && s.waits(key):
			continue // drop sees to it
		case x.closed:
			due = span.Add(due, s.retain)
		}
		if !ok || due < at {
			at, ok = due, true
		}
	}
	return at, ok
}

// waits reports whether a change of the key's row is still to be emitted: until then what has closed stays in it.
func (s *visits[K, R, WK]) waits(key []byte) bool { return s.emit.waits(key) }

// fire closes the sessions of a key that are due, and drops what was kept long enough.
func (s *visits[K, R, WK]) fire(key []byte, now int64) {
	e := s.rows.store.Entry(key)
	if !e.Found() {
		return
	}
	list := e.Value.v
	s.closing = s.closing[:0]
	for i := range list {
		if x := &list[i]; !x.closed && span.Closed(s.spec.Close(x.Session), now) {
			x.closed = true
			if s.final {
				s.closing = append(s.closing, *x)
			}
		}
	}
	if !s.waits(key) {
		list = s.keep(list, now)
	} else {
		s.drops = append(s.drops, string(key))
	}
	s.put(s.rows.store.Entry(key), list)
	for i := range s.closing {
		s.result(key, &s.closing[i])
	}
}

// keep is what is left of a visit when closed sessions that nobody may ask for any more are dropped.
func (s *visits[K, R, WK]) keep(list visit[R], now int64) visit[R] {
	return slices.DeleteFunc(list, func(x session[R]) bool {
		return x.closed && span.Closed(span.Add(s.spec.Close(x.Session), s.retain), now)
	})
}

// drop drops what had to stay until it was emitted.
func (s *visits[K, R, WK]) drop() {
	now := s.node.In()
	for _, key := range s.drops {
		e := s.rows.store.Entry([]byte(key))
		if !e.Found() {
			continue
		}
		s.put(e, s.keep(e.Value.v, now))
		if at, ok := s.next([]byte(key)); ok {
			s.dues.add([]byte(key), at)
		}
	}
	s.drops = s.drops[:0]
}

// result emits a session that has closed.
func (s *visits[K, R, WK]) result(key []byte, x *session[R]) {
	k := s.rows.decode(key)
	alone(s.ctx)
	s.ctx.Time, s.ctx.Fault = x.End-1, s.node
	r := x.r
	if s.retain > 0 { // the row stays, and what is emitted is its receiver's
		r = s.rows.store.Copy(row[visit[R]]{v: visit[R]{*x}}).v[0].r
	}
	s.results(s.ctx, WK(window.Key[K]{Key: k, Span: window.SpanMillis(x.Start, x.End)}), table.Change[R]{New: r, HasNew: true})
}

// put stores what is left of a visit.
func (s *visits[K, R, WK]) put(e *overlay.Entry[row[visit[R]]], list visit[R]) {
	if len(list) == 0 {
		s.rows.store.Remove(e)
		return
	}
	s.rows.store.Set(e, row[visit[R]]{list, list[len(list)-1].End - 1})
}

// A sessioner folds records into sessions.
type sessioner[K, V, R any, WK window.KeyOf[K]] struct {
	*visits[K, R, WK]
	fold func(k K, v V, r R, had bool) R
	gap  func(k K, v V) time.Duration
	late lateness[K, V]
}

func (a *sessioner[K, V, R, WK]) receive(c *task.Context, k K, v V) {
	if c.NoKey {
		a.noKey(1)
		return
	}
	c.Fault = a.node
	gap := a.spec.Gap
	if a.gap != nil {
		if !folding(c, a.node, a.reject, a.guarded, func() bool { return true }, func() { gap = a.gap(k, v).Milliseconds() }) {
			return
		}
		a.reaches(gap)
	}
	key, err := a.rows.encode(k)
	if err != nil {
		a.reject(c, err, nil)
		return
	}
	w, store, lone := a.node.In(), a.rows.store, a.spec.Of(c.Time, gap)
	var e *overlay.Entry[row[visit[R]]]
	var old row[visit[R]]
	var before overlay.Saved[row[visit[R]]]
	var list visit[R]
	var from, to int
	var had, late bool
	if !folding(c, a.node, a.reject, a.guarded, func() bool { return a.plain || store.PutBack(before) }, func() {
		e = store.Entry(key)
		from, to = a.touched(e.Value.v, lone, w)
		if late = from < 0 && a.spec.Late(lone, w); late {
			return
		}
		if old, had = e.Get(); had && !a.final {
			old = store.Copy(old)
		}
		before = store.Hold(e, a.guarded && !a.plain)
		list = a.add(k, v, e.Value.v, lone, from, to, w)
	}) {
		return
	}
	if late {
		a.late.take(c, k, v)
		return
	}
	a.put(e, list)
	if from < 0 {
		a.dues.add(key, a.spec.Close(lone))
	}
	if !a.final {
		a.emit.changed(c, k, a.rows.store.Entry(key), old, had)
	}
}

// add puts a record into a visit: into the sessions that it makes one, or into one of its own. A function that
// fails has not changed the visit, only perhaps an aggregate in it.
func (a *sessioner[K, V, R, WK]) add(k K, v V, list visit[R], lone span.Session, from, to int, w int64) visit[R] {
	if from < 0 {
		var none R
		at, _ := slices.BinarySearchFunc(list, lone.Start, func(x session[R], start int64) int {
			if x.Start < start {
				return -1
			}
			return 1
		})
		return slices.Insert(list, at, session[R]{Session: lone, r: a.fold(k, v, none, false)})
	}
	x := &list[from]
	merged, r := lone.Merge(x.Session), x.r
	for i := from + 1; i < to; i++ {
		if a.open(&list[i], w) {
			merged, r = merged.Merge(list[i].Session), a.merge(k, r, list[i].r)
		}
	}
	r = a.fold(k, v, r, true)
	kept := list[:from+1]
	for i := from + 1; i < len(list); i++ {
		if i >= to || !a.open(&list[i], w) {
			kept = append(kept, list[i])
		}
	}
	clear(list[len(kept):])
	x.Session, x.r = merged, r
	x.changes++
	return kept
}
