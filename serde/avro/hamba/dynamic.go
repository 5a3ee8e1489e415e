package hamba

import (
	"fmt"
	"math/big"
	"reflect"
	"time"

	ha "github.com/hamba/avro/v2"

	"github.com/weirstream/weir/serde/avro"
)

// The library's dynamic values differ from those that package avro promises: ints are int, unions are maps of one entry
// unless it knows all their names. The two functions here walk a value by its schema and translate.

// fromHamba turns a decoded value into its promised form.
func fromHamba(t *avro.Type, v any) (any, error) {
	switch t.Kind {
	case avro.KindInt:
		if n, ok := v.(int); ok {
			return int32(n), nil
		}
	case avro.KindFixed:
		return fixedFrom(t, v), nil
	case avro.KindRecord:
		return recordFrom(t, v)
	case avro.KindArray:
		return listFrom(t, v)
	case avro.KindMap:
		return mapFrom(t, v)
	case avro.KindUnion:
		return unionFrom(t, v)
	}
	return v, nil
}

func fixedFrom(t *avro.Type, v any) any {
	if d, ok := v.(ha.LogicalDuration); ok {
		return avro.Duration(d)
	}
	array := reflect.ValueOf(v)
	if t.Logical == "uuid" || array.Kind() != reflect.Array {
		return v
	}
	b := make([]byte, array.Len())
	reflect.Copy(reflect.ValueOf(b), array)
	return b
}

func recordFrom(t *avro.Type, v any) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, mismatch(t, v)
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		field, err := fromHamba(f.Type, m[f.Name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		m[f.Name] = field
	}
	return m, nil
}

func listFrom(t *avro.Type, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, mismatch(t, v)
	}
	for i := range list {
		var err error
		if list[i], err = fromHamba(t.Elem, list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func mapFrom(t *avro.Type, v any) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, mismatch(t, v)
	}
	for k := range m {
		var err error
		if m[k], err = fromHamba(t.Elem, m[k]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// unionFrom takes the branch's name off, if there is one.
func unionFrom(t *avro.Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		for name, inner := range m {
			for _, b := range t.Branches {
				if branchName(b) == name {
					return fromHamba(b, inner)
				}
			}
		}
	}
	for _, b := range t.Branches {
		if fits(b, v) {
			return fromHamba(b, v)
		}
	}
	return v, nil
}

// toHamba turns a value in the promised form into what the library encodes.
func toHamba(t *avro.Type, v any) (any, error) {
	switch t.Kind {
	case avro.KindInt:
		if n, ok := v.(int32); ok {
			return int(n), nil
		}
	case avro.KindFixed:
		return fixedTo(t, v), nil
	case avro.KindRecord:
		return recordTo(t, v)
	case avro.KindArray:
		return listTo(t, v)
	case avro.KindMap:
		return mapTo(t, v)
	case avro.KindUnion:
		return unionTo(t, v)
	}
	return v, nil
}

func fixedTo(t *avro.Type, v any) any {
	switch v := v.(type) {
	case avro.Duration:
		return ha.LogicalDuration(v)
	case []byte:
		array := reflect.New(reflect.ArrayOf(len(v), reflect.TypeFor[byte]())).Elem()
		reflect.Copy(array, reflect.ValueOf(v))
		return array.Interface()
	}
	return v
}

func recordTo(t *avro.Type, v any) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, mismatch(t, v)
	}
	out := make(map[string]any, len(m))
	for i := range t.Fields {
		f := &t.Fields[i]
		field, ok := m[f.Name]
		if !ok && f.HasDefault {
			field = f.Default
		} else if !ok {
			return nil, fmt.Errorf("field %s of %s is missing and has no default", f.Name, t.Name)
		}
		var err error
		if out[f.Name], err = toHamba(f.Type, field); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return out, nil
}

func listTo(t *avro.Type, v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, mismatch(t, v)
	}
	out := make([]any, len(list))
	for i := range list {
		var err error
		if out[i], err = toHamba(t.Elem, list[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func mapTo(t *avro.Type, v any) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, mismatch(t, v)
	}
	out := make(map[string]any, len(m))
	for k := range m {
		var err error
		if out[k], err = toHamba(t.Elem, m[k]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unionTo names the branch, as the library wants it.
func unionTo(t *avro.Type, v any) (any, error) {
	for _, b := range t.Branches {
		if !fits(b, v) {
			continue
		}
		if b.Kind == avro.KindNull {
			return map[string]any{"null": nil}, nil
		}
		inner, err := toHamba(b, v)
		if err != nil {
			continue
		}
		return map[string]any{branchName(b): inner}, nil
	}
	return nil, mismatch(t, v)
}

// branchName is the library's name for a branch of a union.
func branchName(t *avro.Type) string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Logical != "":
		return string(t.Kind) + "." + t.Logical
	}
	return string(t.Kind)
}

// fits tells whether a dynamic value may be one of this branch.
func fits(t *avro.Type, v any) bool {
	switch v := v.(type) {
	case nil:
		return t.Kind == avro.KindNull
	case bool:
		return t.Kind == avro.KindBoolean
	case int, int32:
		return t.Kind == avro.KindInt
	case int64:
		return t.Kind == avro.KindLong
	case float32:
		return t.Kind == avro.KindFloat
	case float64:
		return t.Kind == avro.KindDouble
	case string:
		return t.Kind == avro.KindString || t.Kind == avro.KindEnum && contains(t.Symbols, v)
	case []byte:
		return t.Kind == avro.KindBytes || t.Kind == avro.KindFixed && t.Size == len(v)
	case time.Time, time.Duration:
		return t.Logical != ""
	case *big.Rat:
		return t.Logical == "decimal"
	case avro.Duration, ha.LogicalDuration:
		return t.Logical == "duration"
	case []any:
		return t.Kind == avro.KindArray
	case map[string]any:
		return t.Kind == avro.KindMap || t.Kind == avro.KindRecord
	}
	return t.Kind == avro.KindFixed
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func mismatch(t *avro.Type, v any) error {
	return fmt.Errorf("%T is no value of Avro's %s", v, t.Kind)
}
