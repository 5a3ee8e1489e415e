package stream

import (
	"fmt"

	"github.com/weirstream/weir/internal/overlay/keys"
	"github.com/weirstream/weir/internal/span"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

// windowKeys lays out the rows of a window table: by the end of the span, then by key. So what closes lies together, and closing a
// window reads it and nothing else. The start is not stored: the spec gives it.
type windowKeys[K any, WK window.KeyOf[K]] struct {
	key  serde.Serde[K]
	spec *span.Spec
	kept string // what becomes of rows that have closed; "" when they go
}

func (s windowKeys[K, WK]) Append(dst []byte, wk WK) ([]byte, error) {
	k := window.Key[K](wk)
	_, end := k.Span.Millis()
	return s.key.Append(keys.AppendTime(dst, end), k.Key)
}

func (s windowKeys[K, WK]) Decode(b []byte) (wk WK, err error) {
	end, rest, err := keys.CutTime(b)
	if err != nil {
		return wk, fmt.Errorf("window key: %w", err)
	}
	k, err := s.key.Decode(rest)
	if err != nil {
		return wk, err
	}
	w := s.spec.Ending(end)
	return WK(window.Key[K]{Key: k, Span: window.SpanMillis(w.Start, w.End)}), nil
}

// Format names the windows too: rows of another size would be read as something they are not. The grace may change, unless closed rows stay: it
// alone says then which rows have given their results.
func (s windowKeys[K, WK]) Format() string {
	return fmt.Sprintf("window/1 %s%s %s", s.spec.Shape(), s.kept, s.key.Format())
}

// keptRows says how closed rows stay in a store, for its format.
func keptRows(spec *span.Spec, o settings) string {
	switch {
	case o.retain == 0:
		return ""
	case o.emit.when == onClose:
		return fmt.Sprintf(" kept after closing with grace %dms", spec.Grace)
	}
	return " kept"
}

// bindWindows binds the serdes of a window table's store.
func bindWindows[K, R any, WK window.KeyOf[K]](key serde.Serde[K], value serde.Serde[R], spec *span.Spec, kept string) func(*binding) (any, error) {
	return func(b *binding) (any, error) {
		k, err := bindInternal(b, key, true)
		if err != nil {
			return nil, err
		}
		v, err := bindInternal(b, value, false)
		return &rowSerdes[WK, R]{windowKeys[K, WK]{k, spec, kept}, v}, err
	}
}

// windowedSerde is the serde of the keys of a window table wherever they leave it.
func windowedSerde[K any, WK window.KeyOf[K]](key serde.Serde[K]) serde.Serde[WK] {
	return any(serde.Windowed(orFor(key))).(serde.Serde[WK])
}
