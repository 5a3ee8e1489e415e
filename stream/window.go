package stream

import (
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// Window aggregates per key and span.
func (g *Grouped[K, V]) Window(w window.Spec) *Windowed[K, V] {
	g.from.b.validate(w.Validate())
	return &Windowed[K, V]{g: g, spec: w, late: &lateEnd{}}
}

// A Windowed is a grouped stream about to be aggregated per span. Results are emitted as the aggregate's option says:
// by default OnClose, once and final. Its result's time is the last millisecond of the span; with the other policies it is the
// greatest time of its inputs.
//
// Hopping windows that are emitted OnClose share what they have in common, where it is known how to put it together: of Count, AggregateMerge, and
// Reduce with Associative one pane is written per record, not each window that the record is in. With another policy or with Retain
// there is a row per window. To change from one to the other is to give the state up, see DropState.
type Windowed[K, V any] struct {
	g    *Grouped[K, V]
	spec window.Spec
	late *lateEnd
}

// Late is the stream of records that were late for every span they belong to. Without it they are counted and dropped.
func (w *Windowed[K, V]) Late() *Stream[K, V] {
	s := w.g.from
	n := w.late.add(s.b, caller(), "Windowed", passLate[K, V]())
	return &Stream[K, V]{b: s.b, node: n, key: s.key, value: s.value}
}

// validate notes what is wrong with a window, with the line of the user's call.
func (b *Builder) validate(err error) {
	if err != nil {
		b.problem(caller(), err)
	}
}

// windowed makes the table of a fold per span. had says whether there is an aggregate already. merge puts two together; nil: they cannot be.
func windowed[K, V, R any, WK window.KeyOf[K]](w *Windowed[K, V], kind topology.Kind, value serde.Serde[R], o settings,
	fold func(k K, v V, r R, had bool) R, merge func(k K, a, b R) R) *Table[WK, R] {
	if w.spec.Engine().Kind == span.Sliding {
		return sliding[K, V, R, WK](w, kind, value, o, fold)
	}
	name := w.g.name(o, string(kind))
	s := groupedBy(w.g, name)
	if merge != nil && paned(w.spec, o) {
		t := paneTable[K, R, WK](s.b, kind, name, o, s.key, value, w.spec, merge, func(in *instance, p *panes[K, R, WK]) any {
			a := &paner[K, V, R, WK]{panes: p, fold: fold, late: late[K, V](in)}
			return a.receive
		}, at(s.node))
		w.late.from(s.b, t.node)
		return t
	}
	t := windowTable[K, R, WK](s.b, kind, name, o, s.key, value, w.spec, moreState{}, func(in *instance, sp *spans[K, R, WK]) any {
		a := &windower[K, V, R, WK]{spans: sp, fold: fold, late: late[K, V](in)}
		return a.receive
	}, at(s.node))
	w.late.from(s.b, t.node)
	return t
}

// moreState is what a window table keeps beside its rows.
type moreState struct {
	stores []storeSpec
	bind   func(*binding) error // nil: there is nothing to bind
}

// with is a bind that binds more first.
func (m moreState) with(bind func(*binding) (any, error)) func(*binding) (any, error) {
	if m.bind == nil {
		return bind
	}
	return func(b *binding) (any, error) {
		if err := m.bind(b); err != nil {
			return nil, err
		}
		return bind(b)
	}
}

// windowTable makes a table whose rows are keyed by key and span. make returns the node's receivers.
func windowTable[K, R any, WK window.KeyOf[K]](b *Builder, kind topology.Kind, name string, o settings, key serde.Serde[K], value serde.Serde[R],
	w window.Spec, more moreState, make func(in *instance, sp *spans[K, R, WK]) any, parents ...topology.Edge) *Table[WK, R] {
	o.name = name
	o.emit.orOnClose()
	spec := new(span.Spec)
	if w.Validate() == nil {
		*spec = w.Engine()
	}
	kept := keptRows(spec, o)
	op := &operator{byTime: true, bind: more.with(bindWindows[K, R, WK](key, value, spec, kept)), stores: append(rowStores(name, o.emit), more.stores...),
		patience: patienceOf(spec.Grace, o.emit)}
	op.make = func(in *instance) any { return make(in, newSpans[K, R, WK](in, spec, o)) }
	op.reserde = func(_, v any) {
		if v, ok := v.(serde.Serde[R]); ok && v != nil {
			op.bind = more.with(bindWindows[K, R, WK](key, v, spec, kept))
		}
	}
	n := b.add(kind, o, op, parents...)
	n.Stores, n.Table, n.Detail = namesOf(op.stores), true, w.String()
	return &Table[WK, R]{b: b, node: n, key: windowedSerde[K, WK](key), value: value,
		lookup: func(in *instance) lookup[WK, R] { return rowsOf[WK, R](in, n).get }, scan: scanWindows[K, R, WK](n, spec),
		forms: func(p *program) *keyForms[WK] {
			return windowForms[K, WK](p.results[n].(*rowSerdes[WK, R]).key.(windowKeys[K, WK]).key)
		}}
}

// orOnClose makes windows' own default of the default.
func (e *emission) orOnClose() {
	if e.when == byDefault {
		e.when = onClose
	}
}

// A windower folds records into the rows of their spans.
type windower[K, V, R any, WK window.KeyOf[K]] struct {
	*spans[K, R, WK]
	fold   func(k K, v V, r R, had bool) R
	late   lateness[K, V]
	folded []inSpan[R] // the record at hand
}

func (a *windower[K, V, R, WK]) receive(c *task.Context, k K, v V) {
	if c.NoKey {
		a.noKey(1)
		return
	}
	run := a.assign.Open(c.Time, a.node.In())
	if run.N == 0 {
		a.late.take(c, k, v)
		return
	}
	c.Fault = a.node
	if err := a.encode(k); err != nil {
		a.reject(c, err, nil)
		return
	}
	if !folding(c, a.node, a.reject, a.guarded, a.putBack, func() { a.foldAll(c, k, v, run) }) {
		return
	}
	for i := range run.N {
		w, f := run.At(i), &a.folded[i]
		if !f.had {
			a.opened(w)
		}
		if a.emit.when == onClose {
			continue // nothing is to be told before
		}
		if run.N > 1 {
			f.e = a.rows.store.Entry(a.at(w))
		}
		a.changed(c, k, w, f.e, f.old, f.had)
	}
}

// foldAll folds a record into every span that has it. A lone plain accumulator is set when the fold has ended, and needs no putting back.
func (a *windower[K, V, R, WK]) foldAll(c *task.Context, k K, v V, run span.Run) {
	a.folded = a.folded[:0]
	for i := range run.N {
		e, old, had := a.entry(run.At(i))
		f := inSpan[R]{e: e, old: old, had: had}
		if run.N > 1 || !a.plain {
			f.before = a.rows.store.Hold(e, a.guarded)
		}
		a.folded = append(a.folded, f)
		a.rows.set(c, e, a.fold(k, v, e.Value.v, had), old, had)
	}
}

// putBack makes every span's accumulator what it was, and reports whether it could.
func (a *windower[K, V, R, WK]) putBack() bool {
	all := true
	for i := len(a.folded) - 1; i >= 0; i-- {
		all = a.rows.store.PutBack(a.folded[i].before) && all
	}
	return all
}
