package serde

import (
	jsonv1 "encoding/json"
	"encoding/json/v2"
	"fmt"
	"reflect"
	"sync"
)

// jsonOptions differ from the defaults of encoding/json/v2 where those would not give a value back as it was, or not
// always the same bytes for it: keys must be equal when values are.
var jsonOptions = json.JoinOptions(
	json.Deterministic(true),          // members of a map in order
	json.FormatNilSliceAsNull(true),   // nil and empty stay apart
	json.FormatNilMapAsNull(true),     //
	jsonv1.FormatDurationAsNano(true), // else a time.Duration is an error
)

// JSON is encoding/json/v2's form of T: UTF-8, member names matched with their case, unknown members ignored, a name
// that comes twice refused, 10,000 levels at most. Nil slices and maps are null, durations are nanoseconds, and the members of a map
// are sorted. NaN, infinities, and strings that are not UTF-8 are data errors.
//
// Its format says the names and types of members, so that state opens when the type has grown, and a member that changed
// its type is an error then; see [Migrate].
//
// It loses what JSON cannot say, which [For] would refuse: unexported fields, and the types inside interfaces.
func JSON[T any]() Serde[T] {
	s := &jsonSerde[T]{format: jsonFormat(reflect.TypeFor[T]())}
	s.scratch.New = func() any { return new(jsonScratch[T]) }
	return s
}

type jsonSerde[T any] struct {
	format  string
	scratch sync.Pool // of *jsonScratch[T]
}

// jsonScratch is what one call of Append needs on the heap: the value, which the encoder wants addressable, and the
// destination as an io.Writer.
type jsonScratch[T any] struct {
	value T
	out   appender
}

// An appender is a slice that can be written to.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

func (s *jsonSerde[T]) Append(dst []byte, v T) ([]byte, error) {
	w := s.scratch.Get().(*jsonScratch[T])
	w.value, w.out.b = v, dst
	err := json.MarshalWrite(&w.out, &w.value, jsonOptions)
	out := w.out.b
	*w = jsonScratch[T]{} // the pool keeps no value and no buffer of its callers alive
	s.scratch.Put(w)
	if err != nil {
		return dst, fmt.Errorf("serde: %w", err)
	}
	return out, nil
}

func (s *jsonSerde[T]) Decode(b []byte) (T, error) {
	var v T
	if err := json.Unmarshal(b, &v, jsonOptions); err != nil {
		var zero T // not what was read before the mistake
		return zero, fmt.Errorf("serde: %w", err)
	}
	return v, nil
}

func (s *jsonSerde[T]) Format() string { return s.format }
