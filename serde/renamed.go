package serde

import (
	"fmt"
	"reflect"
	"unsafe"
)

// scalarOf returns a serde for T when it is made of a scalar or a string: type UserID string, or plain int, which has no
// serde of its own. There is one type for all of them, not one per pair of types, since what For can reach is compiled
// once for every T in the user's build.
func scalarOf[T any](k reflect.Kind) (Serde[T], bool) {
	switch {
	case k == reflect.Bool:
		return scalar[T]{k}, true
	case k == reflect.String:
		return orderedScalar[T]{scalar[T]{k}}, true
	case reflect.Int <= k && k <= reflect.Uint64, k == reflect.Float32, k == reflect.Float64:
		return fixedScalar[T]{orderedScalar[T]{scalar[T]{k}}}, true
	}
	return nil, false
}

// scalar is the serde of a T of this kind. The kind says how T lies in memory, so reading it through a pointer to the
// plain type is what a conversion would do, if Go could write one for a type parameter.
type scalar[T any] struct{ kind reflect.Kind }

func (s scalar[T]) Append(dst []byte, v T) ([]byte, error) {
	return appendScalar(dst, s.kind, unsafe.Pointer(&v))
}

func (s scalar[T]) Decode(b []byte) (v T, err error) {
	if err = decodeScalar(b, s.kind, unsafe.Pointer(&v)); err != nil {
		err = fmt.Errorf("%w, as %T", err, v)
		v = *new(T)
	}
	return v, err
}

func (s scalar[T]) Format() string {
	switch s.kind {
	case reflect.Int, reflect.Int8, reflect.Int16:
		return Int64.Format()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return Uint64.Format()
	case reflect.Float32:
		return Float64.Format()
	}
	return s.kind.String()
}

type orderedScalar[T any] struct{ scalar[T] }

func (orderedScalar[T]) OrderedBytes() {}

type fixedScalar[T any] struct{ orderedScalar[T] }

func (s fixedScalar[T]) size() int {
	if s.kind == reflect.Int32 {
		return Int32.size()
	}
	return Int64.size()
}

// appendScalar appends the value at p, which is of this kind.
func appendScalar(dst []byte, k reflect.Kind, p unsafe.Pointer) ([]byte, error) {
	switch k {
	case reflect.Bool:
		return Bool.Append(dst, *(*bool)(p))
	case reflect.String:
		return String.Append(dst, *(*string)(p))
	case reflect.Int:
		return Int64.Append(dst, int64(*(*int)(p)))
	case reflect.Int8:
		return Int64.Append(dst, int64(*(*int8)(p)))
	case reflect.Int16:
		return Int64.Append(dst, int64(*(*int16)(p)))
	case reflect.Int32:
		return Int32.Append(dst, *(*int32)(p))
	case reflect.Int64:
		return Int64.Append(dst, *(*int64)(p))
	case reflect.Uint:
		return Uint64.Append(dst, uint64(*(*uint)(p)))
	case reflect.Uint8:
		return Uint64.Append(dst, uint64(*(*uint8)(p)))
	case reflect.Uint16:
		return Uint64.Append(dst, uint64(*(*uint16)(p)))
	case reflect.Uint32:
		return Uint64.Append(dst, uint64(*(*uint32)(p)))
	case reflect.Uint64:
		return Uint64.Append(dst, *(*uint64)(p))
	case reflect.Float32:
		return Float64.Append(dst, float64(*(*float32)(p)))
	default:
		return Float64.Append(dst, *(*float64)(p))
	}
}

// decodeScalar reads b into the value at p, which is of this kind.
func decodeScalar(b []byte, k reflect.Kind, p unsafe.Pointer) error {
	switch k {
	case reflect.Bool:
		return store(b, Bool, (*bool)(p))
	case reflect.String:
		return store(b, String, (*string)(p))
	case reflect.Int:
		return storeSigned(b, (*int)(p))
	case reflect.Int8:
		return storeSigned(b, (*int8)(p))
	case reflect.Int16:
		return storeSigned(b, (*int16)(p))
	case reflect.Int32:
		return store(b, Int32, (*int32)(p))
	case reflect.Int64:
		return store(b, Int64, (*int64)(p))
	case reflect.Uint:
		return storeUnsigned(b, (*uint)(p))
	case reflect.Uint8:
		return storeUnsigned(b, (*uint8)(p))
	case reflect.Uint16:
		return storeUnsigned(b, (*uint16)(p))
	case reflect.Uint32:
		return storeUnsigned(b, (*uint32)(p))
	case reflect.Uint64:
		return store(b, Uint64, (*uint64)(p))
	case reflect.Float32:
		return storeFloat32(b, (*float32)(p))
	default:
		return store(b, Float64, (*float64)(p))
	}
}

func store[U any, S Serde[U]](b []byte, s S, p *U) (err error) {
	*p, err = s.Decode(b)
	return err
}

func storeSigned[U int | int8 | int16](b []byte, p *U) error {
	wide, err := Int64.Decode(b)
	*p = U(wide)
	if err == nil && int64(*p) != wide {
		return fmt.Errorf("serde: %d is out of range", wide)
	}
	return err
}

func storeUnsigned[U uint | uint8 | uint16 | uint32](b []byte, p *U) error {
	wide, err := Uint64.Decode(b)
	*p = U(wide)
	if err == nil && uint64(*p) != wide {
		return fmt.Errorf("serde: %d is out of range", wide)
	}
	return err
}

func storeFloat32(b []byte, p *float32) error {
	wide, err := Float64.Decode(b)
	*p = float32(wide)
	if err == nil && float64(*p) != wide && wide == wide {
		return fmt.Errorf("serde: %v is not a float32", wide)
	}
	return err
}
