package serde

import (
	"encoding"
	"fmt"
	"reflect"
	"sync"
)

// For picks a serde by type:
//
//   - the built-in one, for string, []byte, bool, int32, int64, uint64, float64, [time.Time] and struct{};
//   - T's own encoding.BinaryAppender and encoding.BinaryUnmarshaler, when it has both;
//   - for other scalars and types made of one (type UserID string), the serde of what it is made of. int and the smaller signed
//     integers are written as [Int64] does it, unsigned ones as [Uint64], float32 as [Float64];
//   - else [JSON].
//
// JSON would lose unexported fields and interface values without a word, and only after a restart would anyone
// notice; so a T that holds one (looked at once, at Build, to any depth) is a Build error unless it marshals itself.
// So is a Protobuf message: package serde/protobuf has its serde.
func For[T any]() Serde[T] {
	for _, s := range [...]any{String, Bytes, Bool, Int32, Int64, Uint64, Float64, Time, Unit} {
		if s, ok := s.(Serde[T]); ok {
			return s
		}
	}
	t := reflect.TypeFor[T]()
	switch {
	case marshalsBinary(t) && t.Kind() == reflect.Pointer:
		return pointerMarshaler[T]{t.Elem()}
	case marshalsBinary(t):
		return newBinaryMarshaler[T]()
	}
	if s, ok := scalarOf[T](t.Kind()); ok {
		return s
	}
	if err := lossless(t); err != nil {
		return refused[T]{fmt.Errorf("serde.For[%v]: %w", t, err)}
	}
	return JSON[T]()
}

// refused stands for a serde that does not exist, until Build asks why.
type refused[T any] struct{ problem error }

func (r refused[T]) Append(dst []byte, _ T) ([]byte, error) { return dst, r.problem }
func (r refused[T]) Decode([]byte) (T, error)               { return *new(T), r.problem }
func (r refused[T]) Format() string                         { return "refused" }
func (r refused[T]) Problem() error                         { return r.problem }

var (
	binaryAppender    = reflect.TypeFor[encoding.BinaryAppender]()
	binaryUnmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// marshalsBinary reports whether values of t can be encoded and decoded by their own methods. Of a pointer type it is
// the pointer that has them, else a pointer to t.
func marshalsBinary(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false // nothing could be decoded into it
	}
	p := t
	if t.Kind() != reflect.Pointer {
		p = reflect.PointerTo(t)
	}
	return p.Implements(binaryAppender) && p.Implements(binaryUnmarshaler)
}

// binaryMarshaler is the serde of types that marshal themselves and are no pointers. Their methods are called by way of an interface, which needs a place in memory;
// places are used again and again, instead of one for each value.
type binaryMarshaler[T any] struct{ places *sync.Pool }

func newBinaryMarshaler[T any]() binaryMarshaler[T] {
	return binaryMarshaler[T]{&sync.Pool{New: func() any { return new(T) }}}
}

func (m binaryMarshaler[T]) Append(dst []byte, v T) ([]byte, error) {
	at := m.places.Get().(*T)
	*at = v
	out, err := any(at).(encoding.BinaryAppender).AppendBinary(dst)
	m.release(at)
	return appended(dst, out, err)
}

func (m binaryMarshaler[T]) Decode(b []byte) (T, error) {
	at := m.places.Get().(*T)
	err := any(at).(encoding.BinaryUnmarshaler).UnmarshalBinary(b)
	v := *at
	m.release(at)
	return unmarshaled(v, err)
}

// release empties a place, so that it holds nothing of a value and the next begins with none.
func (m binaryMarshaler[T]) release(at *T) {
	*at = *new(T)
	m.places.Put(at)
}

func (m binaryMarshaler[T]) Format() string { return "binary " + reflect.TypeFor[T]().String() }

// pointerMarshaler is the serde of pointers to types that marshal themselves.
type pointerMarshaler[T any] struct {
	elem reflect.Type // what Decode allocates
}

func (m pointerMarshaler[T]) Append(dst []byte, v T) ([]byte, error) {
	if reflect.ValueOf(v).IsNil() {
		return dst, fmt.Errorf("serde: nil %T: wrap its serde in serde.Optional", v)
	}
	out, err := any(v).(encoding.BinaryAppender).AppendBinary(dst)
	return appended(dst, out, err)
}

func (m pointerMarshaler[T]) Decode(b []byte) (T, error) {
	v := reflect.New(m.elem).Interface().(T)
	return unmarshaled(v, any(v).(encoding.BinaryUnmarshaler).UnmarshalBinary(b))
}

func (m pointerMarshaler[T]) Format() string { return "binary " + reflect.TypeFor[T]().String() }

func appended(dst, out []byte, err error) ([]byte, error) {
	if err != nil {
		return dst, fmt.Errorf("serde: %w", err)
	}
	return out, nil
}

func unmarshaled[T any](v T, err error) (T, error) {
	if err != nil {
		return *new(T), fmt.Errorf("serde: %w", err)
	}
	return v, nil
}
