package serde

import (
	"encoding"
	"encoding/json/v2"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// lossless returns nil when JSON gives back every value of t as it was, else an error that says which part would be lost
// and what to do.
func lossless(t reflect.Type) error {
	if _, ok := t.MethodByName("ProtoReflect"); ok {
		return errors.New("it is a Protobuf message: name its serde, protobuf.Of")
	}
	return walk{seen: map[reflect.Type]bool{}}.check(t, "")
}

// A walk goes through the parts of a type, each part once, so types that contain themselves end.
type walk struct{ seen map[reflect.Type]bool }

// check looks at t, found at path below the type that For was asked for.
func (w walk) check(t reflect.Type, path string) error {
	if w.seen[t] {
		return nil
	}
	w.seen[t] = true
	if own, err := marshalsItself(t); own || err != nil {
		return at(path, err)
	}
	switch t.Kind() {
	case reflect.Interface:
		return at(path, fmt.Errorf("JSON loses which type is in an interface (%v); use a type of its own, or serde.New", t))
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return at(path, fmt.Errorf("JSON has no form for %v; leave it out of the type, or use serde.New", t))
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return w.check(t.Elem(), path+"[]")
	case reflect.Map:
		if err := w.checkKey(t.Key(), path); err != nil {
			return err
		}
		return w.check(t.Elem(), path+"[]")
	case reflect.Struct:
		return w.checkFields(t, path)
	}
	return nil
}

// checkKey looks at the type of a map's keys, which are strings in JSON.
func (w walk) checkKey(t reflect.Type, path string) error {
	if own, err := marshalsItself(t); own || err != nil {
		return at(path, err)
	}
	switch k := t.Kind(); {
	case k == reflect.String, reflect.Int <= k && k <= reflect.Uint64, k == reflect.Float32, k == reflect.Float64:
		return nil
	}
	return at(path, fmt.Errorf("JSON has no form for a map with keys of type %v; give the key type MarshalText and UnmarshalText, or use serde.New", t))
}

func (w walk) checkFields(t reflect.Type, path string) error {
	for f := range t.Fields() {
		at := path + "." + f.Name
		switch {
		case f.Name == "_", f.Tag.Get("json") == "-":
			continue // nothing to lose, or said by whoever wrote the type
		case f.Anonymous && !f.IsExported() && f.Type.Kind() == reflect.Struct && embedded(f):
			// The field has no name in JSON; what is in it has.
		case !f.IsExported():
			return fmt.Errorf("%s: JSON loses unexported fields; export it, give the type its own AppendBinary and UnmarshalBinary, or use serde.New", strings.TrimPrefix(at, "."))
		}
		if err := w.check(f.Type, at); err != nil {
			return err
		}
	}
	return nil
}

// embedded reports whether an embedded field's own fields are promoted, which giving it a name ends.
func embedded(f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name == ""
}

// at says where in the type err was found.
func at(path string, err error) error {
	if path == "" || err == nil {
		return err
	}
	return fmt.Errorf("%s: %w", strings.TrimPrefix(path, "."), err)
}

var (
	marshalers   = []reflect.Type{reflect.TypeFor[json.MarshalerTo](), reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextAppender](), reflect.TypeFor[encoding.TextMarshaler]()}
	unmarshalers = []reflect.Type{reflect.TypeFor[json.UnmarshalerFrom](), reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
)

// marshalsItself reports whether t has methods that JSON calls in both directions. Having one direction only is an error:
// what the methods write is not what JSON would read.
func marshalsItself(t reflect.Type) (bool, error) {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return false, nil // of a pointer, its element is asked
	}
	writes, reads := implementsAny(t, marshalers), implementsAny(t, unmarshalers)
	switch {
	case writes && !reads:
		return false, fmt.Errorf("%v marshals itself but cannot be unmarshaled; give it UnmarshalJSON or UnmarshalText", t)
	case reads && !writes:
		return false, fmt.Errorf("%v unmarshals itself but cannot be marshaled; give it MarshalJSON or MarshalText", t)
	}
	return writes && reads, nil
}

func implementsAny(t reflect.Type, interfaces []reflect.Type) bool {
	for _, i := range interfaces {
		if reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return false
}
