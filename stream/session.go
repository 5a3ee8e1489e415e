package stream

import (
	"time"

	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// Session aggregates per key and session.
func (g *Grouped[K, V]) Session(w window.SessionSpec) *Sessions[K, V] {
	g.from.b.validate(w.Validate())
	return &Sessions[K, V]{g: g, spec: w, late: &lateEnd{}}
}

// SessionBy is Session with a gap per record; that of w is what most are about, and cuts the index of what closes when. A session
// reaches as far as the record in it that reaches furthest. A negative gap counts as none.
func (g *Grouped[K, V]) SessionBy(w window.SessionSpec, gap func(k K, v V) time.Duration) *Sessions[K, V] {
	g.from.b.validate(w.Validate())
	return &Sessions[K, V]{g: g, spec: w, gap: gap, late: &lateEnd{}}
}

// Sessions is a grouped stream about to be aggregated per session. Policies are as for Windowed; before it closes, a
// session that grows is deleted under its old span and emitted under its new one.
type Sessions[K, V any] struct {
	g    *Grouped[K, V]
	spec window.SessionSpec
	gap  func(k K, v V) time.Duration // nil: that of the spec
	late *lateEnd
}

// Late is described at Windowed. A record that touches an open session is not late, however old it is.
func (w *Sessions[K, V]) Late() *Stream[K, V] {
	s := w.g.from
	n := w.late.add(s.b, caller(), "Sessions", passLate[K, V]())
	return &Stream[K, V]{b: s.b, node: n, key: s.key, value: s.value}
}

// Count counts records per key and session.
func (w *Sessions[K, V]) Count[WK window.KeyOf[K]](opts ...WindowOption) *Table[WK, int64] {
	return sessions[K, V, int64, WK](w, "count", serde.Int64, windowOptions(opts),
		func(_ K, _ V, n int64, _ bool) int64 { return n + 1 },
		func(_ K, a, b int64) int64 { return a + b })
}

// Reduce is described at Grouped; f also merges sessions.
func (w *Sessions[K, V]) Reduce[WK window.KeyOf[K]](f func(a, b V) V, opts ...WindowOption) *Table[WK, V] {
	return sessions[K, V, V, WK](w, "reduce", w.g.from.value, windowOptions(opts),
		func(_ K, v, r V, had bool) V {
			if !had {
				return v
			}
			return f(r, v)
		},
		func(_ K, a, b V) V { return f(a, b) })
}

// Aggregate folds a session's values; merge joins two sessions that a record connected, the earlier one first.
func (w *Sessions[K, V]) Aggregate[R any, WK window.KeyOf[K]](init func() R, add func(k K, v V, r R) R, merge func(k K, a, b R) R, opts ...WindowOption) *Table[WK, R] {
	return sessions[K, V, R, WK](w, "aggregate", nil, windowOptions(opts), func(k K, v V, r R, had bool) R {
		if !had {
			r = init()
		}
		return add(k, v, r)
	}, merge)
}

// sessions makes the table of a fold per session. had says whether there is an aggregate already.
func sessions[K, V, R any, WK window.KeyOf[K]](w *Sessions[K, V], kind topology.Kind, value serde.Serde[R], o settings,
	fold func(k K, v V, r R, had bool) R, merge func(k K, a, b R) R) *Table[WK, R] {
	name := w.g.name(o, string(kind))
	s := groupedBy(w.g, name)
	t := sessionTable[K, R, WK](s.b, kind, name, o, s.key, value, w.spec, merge, func(in *instance, vs *visits[K, R, WK]) any {
		vs.varies = w.gap != nil
		a := &sessioner[K, V, R, WK]{visits: vs, fold: fold, gap: w.gap, late: late[K, V](in)}
		return a.receive
	}, at(s.node))
	w.late.from(s.b, t.node)
	return t
}

// sessionTable makes a table whose rows are keyed by key and session. make returns the node's receivers.
func sessionTable[K, R any, WK window.KeyOf[K]](b *Builder, kind topology.Kind, name string, o settings, key serde.Serde[K], value serde.Serde[R],
	w window.SessionSpec, merge func(k K, a, b R) R, make func(in *instance, vs *visits[K, R, WK]) any, parents ...topology.Edge) *Table[WK, R] {
	o.name = name
	o.emit.orOnClose()
	spec := span.Sessions{}
	if w.Validate() == nil {
		spec = w.Engine()
	}
	op := &operator{keepsOld: true, bind: bindVisits(key, value), stores: append(rowStores(name, o.emit), rowStoreSpec(dueStore(name))),
		patience: patienceOf(spec.Grace, o.emit)}
	op.make = func(in *instance) any { return make(in, newVisits[K, R, WK](in, spec, o, merge)) }
	op.reserde = func(_, v any) {
		if v, ok := v.(serde.Serde[R]); ok && v != nil {
			op.bind = bindVisits(key, v)
		}
	}
	n := b.add(kind, o, op, parents...)
	n.Stores, n.Table, n.Detail = namesOf(op.stores), true, w.String()
	return &Table[WK, R]{b: b, node: n, key: windowedSerde[K, WK](key), value: value,
		lookup: func(in *instance) lookup[WK, R] { return lookupSession[K, R, WK](rowsOf[K, visit[R]](in, n)) }, scan: scanSessions[K, R, WK](n),
		forms: func(p *program) *keyForms[WK] { return windowForms[K, WK](p.results[n].(*rowSerdes[K, visit[R]]).key) }}
}

// bindVisits binds the serdes of a session table's store.
func bindVisits[K, R any](key serde.Serde[K], value serde.Serde[R]) func(*binding) (any, error) {
	return func(b *binding) (any, error) {
		k, err := bindInternal(b, key, true)
		if err != nil {
			return nil, err
		}
		v, err := bindInternal(b, value, false)
		return &rowSerdes[K, visit[R]]{k, visitSerde[R]{v}}, err
	}
}

// lookupSession finds a session by its span.
func lookupSession[K, R any, WK window.KeyOf[K]](rows *rows[K, visit[R]]) lookup[WK, R] {
	return func(wk WK) (r R, t int64, ok bool) {
		k := window.Key[K](wk)
		start, end := k.Span.Millis()
		list, _, ok := rows.get(k.Key)
		if x := find(list, &session[R]{Session: span.Session{Start: start, End: end}}); ok && x != nil {
			return x.r, x.End - 1, true
		}
		return r, 0, false
	}
}
