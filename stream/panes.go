package stream

import (
	"slices"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// busyKey is how many records per advance the choice of panes assumes of a key.
const busyKey = 4

// paned reports whether windows are kept as panes.
func paned(w window.Spec, o settings) bool {
	if w.Validate() != nil || o.retain != 0 || o.emit.when != byDefault && o.emit.when != onClose {
		return false
	}
	spec := w.Engine()
	return spec.Kind == span.Aligned && spec.Panes().Worthwhile(busyKey)
}

// paneTable makes a table of windows that are kept as panes. make returns the node's receivers.
func paneTable[K, R any, WK window.KeyOf[K]](b *Builder, kind topology.Kind, name string, o settings, key serde.Serde[K], value serde.Serde[R],
	w window.Spec, merge func(k K, a, b R) R, make func(in *instance, p *panes[K, R, WK]) any, parents ...topology.Edge) *Table[WK, R] {
	o.name = name
	o.emit.orOnClose()
	spec := w.Engine()
	op := &operator{bind: bindRows(key, value), stores: rowStores(name, o.emit), patience: patienceOf(spec.Grace, o.emit)}
	op.make = func(in *instance) any { return make(in, newPanes[K, R, WK](in, &spec, merge)) }
	op.reserde = func(_, v any) {
		if v, ok := v.(serde.Serde[R]); ok && v != nil {
			op.bind = bindRows(key, v)
		}
	}
	n := b.add(kind, o, op, parents...)
	n.Stores, n.Table, n.Detail = namesOf(op.stores), true, w.String()
	return &Table[WK, R]{b: b, node: n, key: windowedSerde[K, WK](key), value: value,
		lookup: func(in *instance) lookup[WK, R] { return stripsOf[K, R, WK](in, n, &spec, merge).get },
		scan:   func(in *instance) scanner[WK, R] { return stripsOf[K, R, WK](in, n, &spec, merge).scan },
		forms: func(p *program) *keyForms[WK] {
			return windowForms[K, WK](p.results[n].(*rowSerdes[K, R]).key)
		}}
}

// panes are the panes of overlapping windows in one task, and when the windows close.
//
// A row is all panes of a key that a window is still to be made of. It lies by the window that is the first of them to close; windows are
// taken in groups, so that a row moves on once in the time of a window. So a record writes one row, and a window that closes
// reads a row for each of its results. (A row whose first window is a later one of the group is looked at in vain, for each result at most once.)
// A key has rows in several groups when records come while earlier windows wait for their grace: what moves on is merged.
type panes[K, R any, WK window.KeyOf[K]] struct {
	*strips[K, R, WK]
	next    recv[WK, table.Change[R]]
	ctx     *task.Context
	node    *task.Node
	guarded bool // its policy is not Fail
	reject  rejection
	noKey   func(int64)

	floor  int64     // the watermark that has closed what was closed before a restart, by whatever grace
	pane   span.Span // of the record before, and
	run    span.Run  // its windows
	groups []closing // that have rows, in order
	hot    closing   // the group written to last
}

// A closing is a group of windows and when the next of them ends that a row may be in.
type closing struct{ group, end int64 }

var noGroup = closing{group: task.MinTime}

// newPanes makes those of the node being made.
func newPanes[K, R any, WK window.KeyOf[K]](in *instance, spec *span.Spec, merge func(k K, a, b R) R) *panes[K, R, WK] {
	p := &panes[K, R, WK]{strips: stripsOf[K, R, WK](in, in.node, spec, merge), next: changes[WK, R](in), ctx: &in.task.Context, node: in.self(),
		guarded: !in.failing(), reject: in.rejection(),
		noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key"), hot: noGroup, floor: task.MinTime}
	hooks := &p.node.Hooks
	hooks.Watermark = p.advance
	hooks.Start = p.start
	hooks.Barrier = p.barrier
	p.node.Delay(spec.Grace)
	looksAhead(in, p.near)
	return p
}

// open is the windows of a time that are open.
func (p *panes[K, R, WK]) open(t int64) span.Run {
	if !p.pane.Contains(t) {
		p.pane = p.cut.Of(t)
		p.run = p.cut.Windows(p.pane)
	}
	return p.spec.StillOpen(p.run, max(p.floor, p.node.In()))
}

// near is told of records that come next.
func (p *panes[K, R, WK]) near(ks []K, times []int64) {
	if !p.store.Far() {
		return
	}
	for i, k := range ks {
		if run := p.open(times[i]); run.N > 0 && p.encode(p.group(run.First.End), k) == nil {
			p.store.Ask(p.buf)
		}
	}
	p.store.Fetch()
}

// opened notes that a group has a row that is in the window ending at end.
func (p *panes[K, R, WK]) opened(group, end int64) {
	if p.hot.group == group && p.hot.end <= end {
		return
	}
	i, there := slices.BinarySearchFunc(p.groups, group, func(c closing, group int64) int { return int(min(1, max(-1, c.group-group))) })
	if !there {
		p.groups = slices.Insert(p.groups, i, closing{group, end})
	}
	p.groups[i].end = min(p.groups[i].end, end)
	p.hot = p.groups[i]
	p.node.At(p.closes(p.hot.end))
}

// closes is the watermark at which the window that ends at end closes.
func (p *panes[K, R, WK]) closes(end int64) int64 { return p.spec.Close(span.Span{End: end}) }

// advance closes what the watermark has reached.
func (p *panes[K, R, WK]) advance(w int64) {
	for len(p.groups) > 0 && span.Closed(p.closes(p.groups[0].end), w) {
		c := p.groups[0]
		p.hot = noGroup
		if p.close(c) {
			p.groups[0].end = c.end + p.spec.Advance
		} else {
			p.groups = slices.DeleteFunc(p.groups, func(o closing) bool { return o == c })
		}
	}
	if len(p.groups) > 0 {
		p.node.At(p.closes(p.groups[0].end))
	}
}

// close emits the results of the windows that end at c.end, in the order of their keys, and drops what no later one needs. It reports
// whether rows of the group remain.
func (p *panes[K, R, WK]) close(c closing) (more bool) {
	alone(p.ctx)
	w := span.Span{Start: c.end - p.spec.Size, End: c.end}
	later := c.end + p.spec.Advance
	group := p.cut.Group(later)
	p.note(c.end)
	for key, e := range p.store.Entries(keys.AppendTime(nil, c.group)) {
		list := e.Value
		from, to := upTo(list, w.Start), upTo(list, w.End)
		gone := upTo(list, later-p.spec.Size) // no later window needs them
		k := p.decode(key)
		r, ok := p.result(k, list[from:to], gone-from, w)
		switch {
		case group != c.group || gone == len(list):
			p.store.Remove(e)
			if gone < len(list) {
				p.move(keys.AppendTime(p.buf[:0], group), key[timeBytes:], k, slices.Delete(list, 0, gone))
				p.opened(group, later)
			}
		default:
			more = true
			if !p.plain && gone > 0 { // what was emitted is its receiver's. Of plain values they stay until the row is written
				p.store.Set(e, slices.Delete(list, 0, gone))
			}
		}
		if ok {
			p.ctx.Time, p.ctx.Fault = w.Last(), p.node
			p.next(p.ctx, WK(window.Key[K]{Key: k, Span: window.SpanMillis(w.Start, w.End)}), table.Change[R]{New: r, HasNew: true})
		}
	}
	return more
}

// result puts the panes of a window together. The first so many are in no later one: their aggregates may be given away.
func (p *panes[K, R, WK]) result(k K, list strip[R], gone int, w span.Span) (r R, ok bool) {
	if !p.guarded {
		p.ctx.Fault = p.node
		return p.combine(k, list, gone)
	}
	p.ctx.Time = w.Last()
	try(p.ctx, p.node, p.reject, func() { r, ok = p.combine(k, list, gone) })
	return r, ok
}

// move adds panes to the row of a key in another group, in front of what is there.
func (p *panes[K, R, WK]) move(group, key []byte, k K, list strip[R]) {
	p.buf = append(group, key...)
	e := p.store.Entry(p.buf)
	if !e.Found() {
		p.store.Set(e, list)
		return
	}
	there := e.Value
	for i := range there {
		x := &there[i]
		at := upTo(list, x.start)
		if at == len(list) || list[at].start != x.start {
			list = slices.Insert(list, at, *x)
			continue
		}
		y := &list[at]
		y.t = max(y.t, x.t)
		merge := func() { y.r = p.merge(k, y.r, x.r) }
		if p.ctx.Fault = p.node; !p.guarded {
			merge()
		} else {
			try(p.ctx, p.node, p.reject, merge)
		}
	}
	p.store.Set(e, list)
}

// barrier notes which windows have closed: a row of a group has no part in those, though its panes may lie in them, and the grace that says
// so may be another after a restart.
func (p *panes[K, R, WK]) barrier() {
	if w := p.node.In(); len(p.groups) > 0 && w != task.MinTime {
		if end := p.cut.LastClosed(w); end > p.noted() {
			p.note(end)
		}
	}
}

// start finds the groups that have rows, by stepping from each to the next. What had closed at the last checkpoint stays closed.
func (p *panes[K, R, WK]) start() error {
	closed := p.noted()
	if w := p.node.In(); closed == task.MinTime && w != task.MinTime { // written before barriers noted it
		closed = p.cut.LastClosed(w)
	}
	if closed != task.MinTime {
		p.floor = p.closes(closed)
	}
	for from := keys.End(noteKey()); ; {
		group, ok := p.after(from)
		if !ok {
			break
		}
		end := group
		if closed >= end { // the windows up to there were closed
			end += ((closed-end)/p.spec.Advance + 1) * p.spec.Advance
		}
		p.groups = append(p.groups, closing{group, end})
		from = keys.End(keys.AppendTime(nil, group))
	}
	if len(p.groups) > 0 {
		p.node.At(p.closes(p.groups[0].end))
	}
	return nil
}

// after is the first group that has a row from a key on.
func (p *panes[K, R, WK]) after(from []byte) (group int64, ok bool) {
	for key := range p.store.Range(from, nil) {
		group, _, err := keys.CutTime(key)
		if err != nil {
			panic(task.Failure{Err: err})
		}
		return group, true
	}
	return 0, false
}

// A paner folds records into panes.
type paner[K, V, R any, WK window.KeyOf[K]] struct {
	*panes[K, R, WK]
	fold func(k K, v V, r R, had bool) R
	late lateness[K, V]
}

func (a *paner[K, V, R, WK]) receive(c *task.Context, k K, v V) {
	if c.NoKey {
		a.noKey(1)
		return
	}
	run := a.open(c.Time)
	if run.N == 0 {
		a.late.take(c, k, v)
		return
	}
	c.Fault = a.node
	end := run.First.End
	group := a.group(end)
	if err := a.encode(group, k); err != nil {
		a.reject(c, err, nil)
		return
	}
	var e *overlay.Entry[strip[R]]
	var before overlay.Saved[strip[R]]
	var list strip[R]
	if !folding(c, a.node, a.reject, a.guarded, func() bool { return a.plain || a.store.PutBack(before) }, func() {
		e = a.store.Entry(a.buf)
		before = a.store.Hold(e, a.guarded && !a.plain)
		list = a.add(c, k, v, e.Value)
	}) {
		return
	}
	a.store.Set(e, list)
	a.opened(group, end)
}

// add folds a record into its pane of a strip. A fold that fails has not changed the strip, only perhaps an aggregate in it.
func (a *paner[K, V, R, WK]) add(c *task.Context, k K, v V, list strip[R]) strip[R] {
	start, i := a.pane.Start, len(list)-1
	for i >= 0 && list[i].start > start {
		i--
	}
	if i >= 0 && list[i].start == start {
		x := &list[i]
		x.r, x.t = a.fold(k, v, x.r, true), max(x.t, c.Time)
		return list
	}
	var none R
	r := a.fold(k, v, none, false)
	i++
	if i == cap(list) && a.hot.group == a.last.group { // make room by dropping what is in no window any more
		gone := upTo(list, a.hot.end-a.spec.Size)
		list, i = slices.Delete(list, 0, gone), i-gone
	}
	return slices.Insert(list, i, pane[R]{start: start, t: c.Time, r: r})
}
