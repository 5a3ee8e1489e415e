package stream

import (
	"slices"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// sliding makes the table of a fold per sliding window. Which spans there are depends on the records of a key, so they are kept for as
// long as a span may begin or end with them: a span that is new folds what is in it, and one that is there takes
// the record at hand. In both the order is that of arrival.
func sliding[K, V, R any, WK window.KeyOf[K]](w *Windowed[K, V], kind topology.Kind, value serde.Serde[R], o settings, fold func(k K, v V, r R, had bool) R) *Table[WK, R] {
	name := w.g.name(o, string(kind))
	s := groupedBy(w.g, name)
	t := slidingTable[K, V, R, WK](s.b, kind, name, o, s.key, value, w.spec,
		func(b *binding) (serde.Serde[V], error) { return bindInternal(b, s.value, false) }, fold,
		func(_ *instance, receive recv[K, V]) any { return receive }, at(s.node))
	w.late.from(s.b, t.node)
	return t
}

// slidingTable makes the table of a fold per sliding window. record binds the serde of what is folded, and ports makes the node's
// receivers of the one that folds.
func slidingTable[K, V, R any, WK window.KeyOf[K]](b *Builder, kind topology.Kind, name string, o settings, key serde.Serde[K], value serde.Serde[R], w window.Spec,
	record func(*binding) (serde.Serde[V], error), fold func(k K, v V, r R, had bool) R, ports func(in *instance, receive recv[K, V]) any, parents ...topology.Edge) *Table[WK, R] {
	var records serde.Serde[V] // bound
	more := moreState{
		stores: []storeSpec{rowStoreSpec(recordStore(name)), rowStoreSpec(dueStore(name))},
		bind: func(b *binding) (err error) {
			records, err = record(b)
			return err
		},
	}
	return windowTable[K, R, WK](b, kind, name, o, key, value, w, more, func(in *instance, sp *spans[K, R, WK]) any {
		return ports(in, newSlider(in, sp, records, fold).receive)
	}, parents...)
}

// recordStore is the name of the store of the records of a sliding window.
func recordStore(name string) string { return name + "-records" }

// A slider folds records into sliding windows.
type slider[K, V, R any, WK window.KeyOf[K]] struct {
	*spans[K, R, WK]
	slide   span.Slide
	records *overlay.Store[part[V]] // of a key, in the order of arrival
	dues    *dues                   // when a key's records are not needed any more
	fold    func(k K, v V, r R, had bool) R
	late    lateness[K, V]
	touched []span.Span
	folded  []foldedSpan[R]
}

// A foldedSpan is what a record makes of a span.
type foldedSpan[R any] struct {
	w   span.Span
	r   row[R]
	old row[R]
	had bool

	before overlay.Saved[row[R]]
}

func newSlider[K, V, R any, WK window.KeyOf[K]](in *instance, sp *spans[K, R, WK], value serde.Serde[V], fold func(k K, v V, r R, had bool) R) *slider[K, V, R, WK] {
	a := &slider[K, V, R, WK]{spans: sp, slide: sp.assign.Spec().Slide(), fold: fold, late: late[K, V](in)}
	a.records = openStore(in, "sliding", recordStore(in.node.Stores[0]), anyFormat{sp.key}, partSerde[V]{value, true}, false, nil, false)
	a.dues = openDues(in, 2*a.slide.Difference+a.slide.Grace, sp.key)
	a.dues.next, a.dues.fire = a.next, a.forget
	hooks := &a.node.Hooks
	closing, start := hooks.Watermark, hooks.Start
	hooks.Watermark = func(w int64) {
		closing(w)
		a.dues.advance(w)
	}
	hooks.Start = chain(start, func() error {
		a.dues.start()
		return nil
	})
	return a
}

func (a *slider[K, V, R, WK]) receive(c *task.Context, k K, v V) {
	if c.NoKey {
		a.noKey(1)
		return
	}
	w := a.node.In()
	if a.slide.Late(c.Time, w) {
		a.late.take(c, k, v)
		return
	}
	c.Fault = a.node
	if err := a.encode(k); err != nil {
		a.reject(c, err, nil)
		return
	}
	p, _ := a.records.Get(a.buf[timeBytes:])
	a.touch(p.records, c.Time, w)
	records := append(p.records, buffered[V]{t: c.Time, v: v})
	if !folding(c, a.node, a.reject, a.guarded, a.putBack, func() { a.foldAll(c, k, v, records) }) {
		return
	}
	a.keep(records, w)
	for i := range a.folded {
		f := &a.folded[i]
		e := a.rows.store.Entry(a.at(f.w))
		a.rows.store.Set(e, f.r)
		if !f.had {
			a.opened(f.w)
		}
		a.changed(c, k, f.w, e, f.old, f.had)
		c.Fault = a.node
	}
}

// touch finds the open spans that have the time in them, or that appear with a record at it, newest first.
func (a *slider[K, V, R, WK]) touch(records []buffered[V], t, w int64) {
	a.touched = a.touched[:0]
	add := func(s span.Span) {
		if !span.Closed(a.slide.Close(s), w) {
			a.touched = append(a.touched, s)
		}
	}
	add(a.slide.Before(t))
	after := a.slide.After(t)
	for i := range records {
		at := records[i].t
		if s := a.slide.Before(at); s.Contains(t) {
			add(s)
		}
		if s := a.slide.After(at); s.Contains(t) {
			add(s)
		}
		if after.Contains(at) {
			add(after)
		}
	}
	slices.SortFunc(a.touched, func(x, y span.Span) int { return int(min(1, max(-1, y.Start-x.Start))) })
	a.touched = slices.Compact(a.touched)
}

// foldAll folds the record at hand, the last of records, into the spans that are there, and all records into those that appear.
func (a *slider[K, V, R, WK]) foldAll(c *task.Context, k K, v V, records []buffered[V]) {
	a.folded = a.folded[:0]
	for _, w := range a.touched {
		e, old, had := a.entry(w)
		if had && !w.Contains(c.Time) {
			continue // the span behind the record is there already
		}
		a.folded = append(a.folded, foldedSpan[R]{w: w, old: old, had: had})
		f := &a.folded[len(a.folded)-1]
		switch {
		case had:
			if !a.guarded {
				f.before = a.rows.store.Hold(e, false)
			}
			r := e.Value.v
			if a.guarded && !a.plain {
				r = a.rows.store.Copy(e.Value).v
			}
			f.r = row[R]{a.fold(k, v, r, true), max(old.t, c.Time)}
		default:
			f.r.t = task.MinTime
			any := false
			for i := range records {
				if at := records[i].t; w.Contains(at) {
					f.r = row[R]{a.fold(k, records[i].v, f.r.v, any), max(f.r.t, at)}
					any = true
				}
			}
		}
	}
}

// putBack makes the aggregates that were there what they were, and reports whether it could. Where it is guarded they were copied before.
func (a *slider[K, V, R, WK]) putBack() bool {
	all := true
	for i := range a.folded {
		all = a.rows.store.PutBack(a.folded[i].before) && all
	}
	return all
}

// keep stores the records of the key at hand that are still needed.
func (a *slider[K, V, R, WK]) keep(records []buffered[V], w int64) {
	e := a.records.Entry(a.buf[timeBytes:])
	had := e.Found()
	a.put(e, records, w)
	if !had {
		if at, ok := a.next(a.buf[timeBytes:]); ok {
			a.dues.add(a.buf[timeBytes:], at)
		}
	}
}

func (a *slider[K, V, R, WK]) put(e *overlay.Entry[part[V]], records []buffered[V], w int64) {
	records = slices.DeleteFunc(records, func(r buffered[V]) bool { return span.Closed(a.slide.Drop(r.t), w) })
	if len(records) == 0 {
		if e.Found() {
			a.records.Remove(e)
		}
		return
	}
	a.records.Set(e, part[V]{records: records})
}

// next is when the first of a key's records is not needed any more.
func (a *slider[K, V, R, WK]) next(key []byte) (at int64, ok bool) {
	p, _ := a.records.Get(key)
	for i := range p.records {
		if d := a.slide.Drop(p.records[i].t); !ok || d < at {
			at, ok = d, true
		}
	}
	return at, ok
}

// forget drops records that are not needed any more.
func (a *slider[K, V, R, WK]) forget(key []byte, now int64) {
	if e := a.records.Entry(key); e.Found() {
		a.put(e, e.Value.records, now)
	}
}
