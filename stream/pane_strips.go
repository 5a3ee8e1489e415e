package stream

import (
	"fmt"
	"iter"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/task"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// strips are the rows of a pane table, and the windows that they amount to.
type strips[K, R any, WK window.KeyOf[K]] struct {
	store *overlay.Store[strip[R]]
	key   serde.Serde[K]
	spec  *span.Spec
	cut   span.Panes
	merge func(k K, a, b R) R
	copy  func(R) (R, error)
	plain bool
	buf   []byte
	last  closing // an end and its group
}

// stripsOf opens those of a node, once per task.
func stripsOf[K, R any, WK window.KeyOf[K]](in *instance, n *topology.Node, spec *span.Spec, merge func(k K, a, b R) R) *strips[K, R, WK] {
	if s, ok := in.stores[n]; ok {
		return s.(*strips[K, R, WK])
	}
	serdes := in.results[n].(*rowSerdes[K, R])
	s := &strips[K, R, WK]{key: serdes.key, spec: spec, cut: spec.Panes(), merge: merge, copy: serde.Cloner(serdes.value), plain: serde.Plain[R](),
		store: openStrips(in, n.Stores[0], spec.Shape(), serdes), last: noGroup}
	in.stores[n] = s
	return s
}

// upTo is how many panes of a list start before a time.
func upTo[R any](list strip[R], t int64) int {
	n := 0
	for n < len(list) && list[n].start < t {
		n++
	}
	return n
}

// group is that of the window that ends at end.
func (s *strips[K, R, WK]) group(end int64) int64 {
	if s.last.end != end || s.last.group == noGroup.group {
		s.last = closing{s.cut.Group(end), end}
	}
	return s.last.group
}

// encode makes the key of a row.
func (s *strips[K, R, WK]) encode(group int64, k K) error {
	b, err := s.key.Append(keys.AppendTime(s.buf[:0], group), k)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	s.buf = b
	return nil
}

// decode is the key that a row is of.
func (s *strips[K, R, WK]) decode(key []byte) K {
	k, err := s.key.Decode(key[timeBytes:])
	if err != nil {
		panic(task.Failure{Err: fmt.Errorf("stored key %q: %w", key, err)})
	}
	return k
}

// combine puts panes together. The first so many aggregates may be given away, the others are copied.
func (s *strips[K, R, WK]) combine(k K, list strip[R], mine int) (r R, ok bool) {
	for i := range list {
		x := list[i].r
		if i >= mine && !s.plain {
			var err error
			if x, err = s.copy(x); err != nil {
				panic(task.Failure{Err: fmt.Errorf("copying an aggregate: %w", err)})
			}
		}
		if ok {
			r = s.merge(k, r, x)
		} else {
			r, ok = x, true
		}
	}
	return r, ok
}

// noteKey is that of the row which says up to which end windows were closed, in the place of a pane's start. It sorts before all others.
func noteKey() []byte { return keys.AppendTime(nil, task.MinTime) }

func (s *strips[K, R, WK]) note(end int64) { s.store.Put(noteKey(), strip[R]{{start: end, t: end}}) }

func (s *strips[K, R, WK]) noted() int64 {
	list, ok := s.store.Get(noteKey())
	if !ok || len(list) == 0 {
		return task.MinTime
	}
	return list[0].start
}

// get is the lookup of a pane table: what a window that has not closed amounts to so far. Its panes are in the group of its own end, or
// wait in that of the first window that they are in.
func (s *strips[K, R, WK]) get(wk WK) (r R, t int64, ok bool) {
	k := window.Key[K](wk)
	start, end := k.Span.Millis()
	run := s.spec.Of(start)
	if w := run.At(run.N - 1); w.Start != start || w.End != end || end <= s.noted() {
		return r, 0, false
	}
	t = task.MinTime
	first, last := s.groupsOf(end)
	for group := first; ; group = last {
		if err := s.encode(group, k.Key); err != nil {
			return r, 0, false
		}
		list, _ := s.store.Get(s.buf)
		list = list[upTo(list, start):upTo(list, end)]
		for i := range list {
			t = max(t, list[i].t)
		}
		if more, any := s.combine(k.Key, list, 0); any && ok {
			r = s.merge(k.Key, r, more)
		} else if any {
			r, ok = more, true
		}
		if group == last {
			return r, t, ok
		}
	}
}

// groupsOf are the two groups that panes of a window may lie in; they may be one.
func (s *strips[K, R, WK]) groupsOf(end int64) (first, last int64) {
	return s.cut.Group(end - s.spec.Size + s.spec.Advance), s.cut.Group(end)
}

// scan is the scanner of a pane table. Between two bounds, which are of one key, it goes by the starts of windows; else as rows are
// stored, and for each by the ends of the windows that it begins.
func (s *strips[K, R, WK]) scan(from, to *WK) iter.Seq2[WK, R] {
	if from != nil && to != nil {
		lo, hi := startOf[K](*from), startOf[K](*to)
		if (hi-lo)/s.spec.Advance <= manyWindows {
			return s.between(window.Key[K](*from).Key, lo, hi)
		}
		return within(s.scan(nil, nil), s.key, *from, hi)
	}
	return func(yield func(WK, R) bool) {
		lo, skip, least := keys.End(noteKey()), []byte(nil), span.Ever
		if from != nil {
			lo = s.place(*from)
			_, least = window.Key[K](*from).Span.Millis()
			skip = lo
		}
		for key, list := range s.store.Range(lo, nil) {
			if string(key) != string(skip) {
				least = span.Ever
			}
			if !s.eachOf(key, list, least, yield) {
				return
			}
		}
	}
}

// place is the key of the row that a window is found at by scan: the first that has a pane of it.
func (s *strips[K, R, WK]) place(wk WK) []byte {
	k := window.Key[K](wk)
	start, end := k.Span.Millis()
	first, last := s.groupsOf(end)
	for group := first; ; group = last {
		if err := s.encode(group, k.Key); err != nil {
			Reject(fmt.Errorf("range: %w", err))
		}
		list, _ := s.store.Get(s.buf)
		if group == last || upTo(list, start) < upTo(list, end) {
			return append([]byte(nil), s.buf...)
		}
	}
}

// eachOf yields the windows that a row begins, from the end least on.
func (s *strips[K, R, WK]) eachOf(key []byte, list strip[R], least int64, yield func(WK, R) bool) bool {
	key = append([]byte(nil), key...)
	k := s.decode(key)
	end := s.spec.Of(list[0].start).First.End
	for last := s.spec.Of(list[len(list)-1].start); end <= last.At(last.N-1).End; end += s.spec.Advance {
		wk := WK(window.Key[K]{Key: k, Span: window.SpanMillis(end-s.spec.Size, end)})
		if end < least || upTo(list, end-s.spec.Size) == upTo(list, end) || string(s.place(wk)) != string(key) {
			continue
		}
		if r, _, ok := s.get(wk); ok && !yield(wk, r) {
			return false
		}
	}
	return true
}

// between yields the windows of a key that start in [lo, hi).
func (s *strips[K, R, WK]) between(k K, lo, hi int64) iter.Seq2[WK, R] {
	return eachStart[K](s.spec, k, lo, hi, s.get)
}
