package stream

import (
	"iter"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/internal/topology"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// windowForms are those of the keys of windows: a key's windows are where the key is.
func windowForms[K any, WK window.KeyOf[K]](s serde.Serde[K]) *keyForms[WK] {
	return &keyForms[WK]{ordered: true, oneKey: true,
		place: func(dst []byte, wk WK) ([]byte, error) { return s.Append(dst, window.Key[K](wk).Key) },
		whole: func(dst []byte, wk WK) ([]byte, error) {
			k := window.Key[K](wk)
			start, end := k.Span.Millis()
			dst, err := s.Append(dst, k.Key)
			return keys.AppendTime(keys.AppendTime(dst, start), end), err
		}}
}

// manyWindows is where looking up one window after another is no cheaper than looking at all of them.
const manyWindows = 1 << 16

// scanWindows is the scanner of a window table. Between two bounds, which are of one key, it goes by the starts of windows; from one
// bound on it goes as rows are stored.
func scanWindows[K, R any, WK window.KeyOf[K]](n *topology.Node, spec *span.Spec) func(in *instance) scanner[WK, R] {
	return func(in *instance) scanner[WK, R] {
		r := rowsOf[WK, R](in, n)
		all := scanRows[WK, R](n)(in)
		return func(from, to *WK) iter.Seq2[WK, R] {
			if from == nil || to == nil {
				return all(from, to)
			}
			key, lo, hi := window.Key[K](*from).Key, startOf[K](*from), startOf[K](*to)
			if spec.Kind == span.Aligned && (hi-lo)/spec.Advance <= manyWindows {
				return eachStart[K](spec, key, lo, hi, r.get)
			}
			return within(all(nil, nil), r.key.(windowKeys[K, WK]).key, *from, hi)
		}
	}
}

// within yields the windows of a key that start from that of from on and before hi.
func within[K, R any, WK window.KeyOf[K]](all iter.Seq2[WK, R], key serde.Serde[K], from WK, hi int64) iter.Seq2[WK, R] {
	return func(yield func(WK, R) bool) {
		first := window.Key[K](from).Key
		lo, want := startOf[K](from), limit(key, &first)
		for wk, v := range all {
			if start := startOf[K](wk); start < lo || start >= hi {
				continue
			}
			k := window.Key[K](wk).Key
			if string(limit(key, &k)) == string(want) && !yield(wk, v) {
				return
			}
		}
	}
}

func startOf[K any, WK window.KeyOf[K]](wk WK) int64 {
	start, _ := window.Key[K](wk).Span.Millis()
	return start
}

// eachStart looks up the windows of a key that start in [lo, hi).
func eachStart[K, R any, WK window.KeyOf[K]](spec *span.Spec, key K, lo, hi int64, get lookup[WK, R]) iter.Seq2[WK, R] {
	return func(yield func(WK, R) bool) {
		run := spec.Of(lo)
		start := run.At(run.N - 1).Start
		if start < lo {
			start += spec.Advance
		}
		for ; start < hi; start += spec.Advance {
			wk := WK(window.Key[K]{Key: key, Span: window.SpanMillis(start, start+spec.Size)})
			if v, _, ok := get(wk); ok && !yield(wk, v) {
				return
			}
		}
	}
}

// scanSessions is the scanner of a session table.
func scanSessions[K, R any, WK window.KeyOf[K]](n *topology.Node) func(in *instance) scanner[WK, R] {
	return func(in *instance) scanner[WK, R] {
		r := rowsOf[K, visit[R]](in, n)
		return func(from, to *WK) iter.Seq2[WK, R] {
			return func(yield func(WK, R) bool) {
				each := func(k K, list visit[R], lo, hi int64) bool {
					for i := range list {
						x := &list[i]
						if x.Start >= lo && x.Start < hi && !yield(WK(window.Key[K]{Key: k, Span: window.SpanMillis(x.Start, x.End)}), x.r) {
							return false
						}
					}
					return true
				}
				if from != nil && to != nil {
					k := window.Key[K](*from).Key
					if list, _, ok := r.get(k); ok {
						each(k, list, startOf[K](*from), startOf[K](*to))
					}
					return
				}
				var first []byte
				if from != nil {
					k := window.Key[K](*from).Key
					first = limit(r.key, &k)
				}
				for b, rw := range r.store.Range(first, nil) {
					lo := span.Ever
					if from != nil && string(b) == string(first) {
						lo = startOf[K](*from)
					}
					if !each(r.decode(b), rw.v, lo, span.Never) {
						return
					}
				}
			}
		}
	}
}
