package serde

import (
	"errors"
	"fmt"
	"reflect"
	"time"
)

// What is in this file is for the engine: programs have no need of it.

var (
	errNoSerde    = errors.New("serde: nil serde")
	errNoFormat   = errors.New("serde.New: the format is empty; name it, with a version, as \"event/1\"")
	errNoFunction = errors.New("serde.New: a function is nil")
)

// Problem returns why s cannot be used, nil when it can. A serde says so by a method Problem, since the functions that
// make serdes return no error: Build collects all mistakes and reports them at once. For the engine.
func Problem[T any](s Serde[T]) error {
	if s == nil {
		return errNoSerde
	}
	if p, ok := s.(interface{ Problem() error }); ok {
		return p.Problem()
	}
	return nil
}

// Bind returns what s is at one place: s itself, or what its Bind returns when it is a [Binder]. It asks for its
// [Problem] before and after. For the engine, and for serdes that wrap others.
func Bind[T any](s Serde[T], at Binding) (Serde[T], error) {
	if err := Problem(s); err != nil {
		return nil, err
	}
	b, ok := s.(Binder[T])
	if !ok {
		return s, nil
	}
	bound, err := b.Bind(at)
	if err != nil {
		return nil, err
	}
	if err := Problem(bound); err != nil {
		return nil, err
	}
	return bound, nil
}

// IsOrdered reports whether the bytes of s sort as its values do. Ask it of the bound serde. For the engine.
func IsOrdered[T any](s Serde[T]) bool {
	_, ok := s.(Ordered)
	return ok
}

// Plain reports whether a copy of a T shares nothing that anyone can change: scalars, strings, times, and arrays and
// structs of these. For the engine.
func Plain[T any]() bool { return plain(reflect.TypeFor[T]()) }

func plain(t reflect.Type) bool {
	if t == reflect.TypeFor[time.Time]() {
		return true // it points to a location, which never changes
	}
	switch k := t.Kind(); k {
	case reflect.Array:
		return t.Len() == 0 || plain(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if !plain(f.Type) {
				return false
			}
		}
		return true
	case reflect.String:
		return true
	default:
		return reflect.Bool <= k && k <= reflect.Complex128
	}
}

// Clones reports whether Cloner's function uses T's own method Clone. For the engine.
func Clones[T any]() bool {
	t := reflect.TypeFor[T]()
	return !Plain[T]() && t.Kind() != reflect.Interface && t.Implements(reflect.TypeFor[interface{ Clone() T }]())
}

// Cloner returns a function that makes independent copies: the value itself when T is [Plain], by T's method Clone() T
// when it has one, else through the encoded form. The function keeps a buffer and belongs to one goroutine.
// For the engine.
func Cloner[T any](s Serde[T]) func(T) (T, error) {
	if Plain[T]() {
		return func(v T) (T, error) { return v, nil }
	}
	t := reflect.TypeFor[T]()
	if Clones[T]() {
		pointer := t.Kind() == reflect.Pointer
		return func(v T) (T, error) {
			if pointer && reflect.ValueOf(v).IsNil() {
				return v, nil
			}
			return any(v).(interface{ Clone() T }).Clone(), nil
		}
	}
	var buf []byte
	return func(v T) (T, error) {
		b, err := s.Append(buf[:0], v)
		if err != nil {
			return *new(T), fmt.Errorf("cannot copy a %v through its serde: %w", t, err)
		}
		if cap(b) <= keptBuffer {
			buf = b
		}
		return s.Decode(b)
	}
}

// keptBuffer bounds what a Cloner holds between calls, so that one huge value does not stay for good.
const keptBuffer = 1 << 20
