package stream

import (
	"slices"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/table"
	"github.com/weirstream/weir/window"
)

// spans are the rows of a window table in one task, and when they close.
//
// Rows lie by the end of their span. ends are the distinct ends that have open rows, in order: a handful of numbers, however many rows.
// So closing reads the rows that close, and an open row costs nothing until then. After a restart ends are found by
// stepping from each to the next in the store.
type spans[K, R any, WK window.KeyOf[K]] struct {
	rows    *rows[WK, R]
	emit    *emitter[WK, R]
	key     serde.Serde[K]
	ctx     *task.Context
	node    *task.Node
	assign  *span.Assigner
	retain  int64
	plain   bool
	guarded bool // its policy is not Fail
	reject  rejection
	noKey   func(int64)

	ends   []int64 // of open rows
	closed []int64 // of rows that are kept for queries, or until what they hold back is emitted
	last   int64   // the end that was asked for last
	buf    []byte  // eight bytes for an end, then the key at hand
}

// An inSpan is the row of the record at hand in a span.
type inSpan[R any] struct {
	e      *overlay.Entry[row[R]]
	before overlay.Saved[row[R]]
	old    row[R]
	had    bool
}

// newSpans makes those of the node being made.
func newSpans[K, R any, WK window.KeyOf[K]](in *instance, spec *span.Spec, o settings) *spans[K, R, WK] {
	r := rowsOf[WK, R](in, in.node)
	s := &spans[K, R, WK]{rows: r, key: r.key.(windowKeys[K, WK]).key, ctx: &in.task.Context, node: in.self(),
		assign: span.NewAssigner(*spec), retain: o.retain.Milliseconds(), plain: serde.Plain[R](), reject: in.rejection(), guarded: !in.failing(),
		noKey: in.env.Count("weir_dropped_total", "node", in.node.Name, "reason", "no key"), last: task.MinTime, buf: make([]byte, 8, 64)}
	s.emit = newEmitter(in, r, o.emit)
	s.emit.flushed = s.drop
	hooks := &s.node.Hooks
	hooks.Watermark = s.advance
	hooks.Start = chain(s.start, hooks.Start)
	if o.emit.when == onClose {
		s.node.Delay(spec.Grace)
	}
	looksAhead(in, s.near)
	return s
}

// chain runs two start hooks, of which the second may be nil.
func chain(first, second func() error) func() error {
	if second == nil {
		return first
	}
	return func() error {
		if err := first(); err != nil {
			return err
		}
		return second()
	}
}

// encode makes k the key at hand.
func (s *spans[K, R, WK]) encode(k K) (err error) {
	s.buf, err = s.key.Append(s.buf[:8], k)
	return err
}

// at is the row of the key at hand in a span.
func (s *spans[K, R, WK]) at(w span.Span) []byte {
	keys.AppendTime(s.buf[:0], w.End)
	return s.buf
}

// nearWindows is how many rows of a record are asked for at most: of more, the first are gone from the cache when the last have come.
const nearWindows = 8

// near is told of records that come next.
func (s *spans[K, R, WK]) near(ks []K, times []int64) {
	store := s.rows.store
	if !store.Far() {
		return
	}
	for i, k := range ks {
		run := s.assign.Open(times[i], s.node.In())
		if run.N > 0 && s.encode(k) != nil {
			continue
		}
		for w := range min(run.N, nearWindows) {
			store.Ask(s.at(run.At(w)))
		}
	}
	store.Fetch()
}

// entry is that row, to be changed. old is what it was, its own copy where the emitter needs one.
func (s *spans[K, R, WK]) entry(w span.Span) (e *overlay.Entry[row[R]], old row[R], had bool) {
	e = s.rows.store.Entry(s.at(w))
	old, had = e.Get()
	if had && !s.plain && s.emit.wantsOld() {
		old = s.rows.store.Copy(old)
	}
	return e, old, had
}

// changed tells the emitter. Most windows are emitted when they close, and nothing is to be told before.
func (s *spans[K, R, WK]) changed(c *task.Context, k K, w span.Span, e *overlay.Entry[row[R]], old row[R], had bool) {
	if s.emit.when == onClose {
		return
	}
	s.emit.changed(c, WK(window.Key[K]{Key: k, Span: window.SpanMillis(w.Start, w.End)}), e, old, had)
}

// opened notes that a span has a row.
func (s *spans[K, R, WK]) opened(w span.Span) {
	if w.End == s.last {
		return
	}
	s.last = w.End
	i, there := slices.BinarySearch(s.ends, w.End)
	if there {
		return
	}
	s.ends = slices.Insert(s.ends, i, w.End)
	s.node.At(s.assign.Spec().Close(w))
}

// closing is the watermark at which rows that end at end close.
func (s *spans[K, R, WK]) closing(end int64) int64 {
	return s.assign.Spec().Close(span.Span{End: end})
}

// advance closes what the watermark has reached, and forgets what was kept long enough.
func (s *spans[K, R, WK]) advance(w int64) {
	for len(s.ends) > 0 && span.Closed(s.closing(s.ends[0]), w) {
		end := s.ends[0]
		s.ends = s.ends[1:]
		s.last = task.MinTime
		s.close(end)
	}
	if s.emit.idle() {
		s.drop()
	}
	s.ask()
}

// ask asks to be called when the next row closes, or is to be dropped.
func (s *spans[K, R, WK]) ask() {
	if len(s.ends) > 0 {
		s.node.At(s.closing(s.ends[0]))
	}
	if len(s.closed) > 0 && s.emit.idle() { // else drop is called when what waits was emitted
		s.node.At(span.Add(s.closing(s.closed[0]), s.retain))
	}
}

// close ends the spans that end at end. Their results are final.
func (s *spans[K, R, WK]) close(end int64) {
	if s.emit.when == onClose {
		s.results(end)
		if s.retain == 0 {
			return
		}
	}
	i, _ := slices.BinarySearch(s.closed, end)
	s.closed = slices.Insert(s.closed, i, end)
}

// results emits the rows that end at end, in the order of their keys, and unless they are kept removes them.
func (s *spans[K, R, WK]) results(end int64) {
	c := s.ctx
	alone(c)
	t := span.Span{End: end}.Last()
	store := s.rows.store
	for key, e := range store.Entries(keys.AppendTime(nil, end)) {
		wk, r := s.rows.decode(key), e.Value
		if s.retain == 0 {
			store.Remove(e) // what is emitted is its receiver's, and the row has no use for it
		} else {
			r = store.Give(e)
		}
		c.Time, c.Fault = t, s.node
		s.emit.next(c, wk, table.Change[R]{New: r.v, HasNew: true})
	}
}

// drop removes closed rows that nothing is kept for any more. Whoever reads the table's changes does not see it: a window that has
// closed is not undone.
func (s *spans[K, R, WK]) drop() {
	w := s.node.In()
	for len(s.closed) > 0 && span.Closed(span.Add(s.closing(s.closed[0]), s.retain), w) {
		for key := range s.rows.store.Keys(keys.AppendTime(nil, s.closed[0])) {
			s.rows.store.Delete(key)
		}
		s.closed = s.closed[1:]
	}
}

// start finds the ends that have rows. Where rows go with their window those that are there are open, by whatever grace they were kept: one
// that is shorter now closes them at once. Where they stay, what the watermark of the last checkpoint has passed was closed by it, and
// windowKeys sees to it that the grace is the same.
func (s *spans[K, R, WK]) start() error {
	w, stay := s.node.In(), s.retain > 0 || s.emit.when != onClose
	for end, ok := s.after(nil); ok; end, ok = s.after(keys.End(keys.AppendTime(nil, end))) {
		if stay && span.Closed(s.closing(end), w) {
			s.closed = append(s.closed, end)
		} else {
			s.ends = append(s.ends, end)
		}
		if end == span.Never {
			break
		}
	}
	s.ask()
	return nil
}

// after is the first end that has a row from a key on.
func (s *spans[K, R, WK]) after(from []byte) (end int64, ok bool) {
	for key := range s.rows.store.Range(from, nil) {
		end, _, err := keys.CutTime(key)
		if err != nil {
			panic(task.Failure{Err: err})
		}
		return end, true
	}
	return 0, false
}
