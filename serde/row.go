package serde

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A Row is a value whose type is known at run time only. Its values are those that [Kind] names. A Row is immutable by
// agreement: whoever wants a change makes a copy by With, and leaves the slices and maps inside alone.
//
// The zero Row belongs to no type; formats do not encode it.
type Row struct {
	typ    Type
	values []any
}

// NewRow returns a row of these values, one for each field of t, and an error that names the field when one does not
// fit. It keeps values.
func NewRow(t Type, values ...any) (Row, error) {
	r := Row{t, values}
	if err := t.NotNull().Check(r); err != nil {
		return Row{}, err
	}
	return r, nil
}

// MakeRow is NewRow without looking: for formats, which have made the values by the type.
func MakeRow(t Type, values []any) Row { return Row{t, values} }

// Type returns the row's type.
func (r Row) Type() Type { return r.typ }

// Len returns the number of values.
func (r Row) Len() int { return len(r.values) }

// At returns the i-th value.
func (r Row) At(i int) any { return r.values[i] }

// Get returns the value of a field; ok says whether there is such a field.
func (r Row) Get(name string) (v any, ok bool) {
	i := r.typ.Index(name)
	if i < 0 {
		return nil, false
	}
	return r.values[i], true
}

// Value returns the value of a field as a T; ok is false when there is no such field, and when it holds something else, as null.
func (r Row) Value[T any](name string) (v T, ok bool) {
	a, _ := r.Get(name)
	v, ok = a.(T)
	return v, ok
}

// With returns a copy that has v in this field.
func (r Row) With(name string, v any) (Row, error) {
	i := r.typ.Index(name)
	if i < 0 {
		return Row{}, fmt.Errorf("serde: %v has no field %q", r.typ, name)
	}
	if err := r.typ.Field(i).Type.check(v, 0); err != nil {
		return Row{}, Within("."+name, err)
	}
	values := slices.Clone(r.values)
	values[i] = v
	return Row{r.typ, values}, nil
}

// Clone returns a copy that shares nothing with r.
func (r Row) Clone() Row { return cloneValue(r).(Row) }

func cloneValue(v any) any {
	switch v := v.(type) {
	case []byte:
		return append([]byte{}, v...)
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = cloneValue(e)
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = cloneValue(e)
		}
		return c
	case Row:
		if v.values == nil {
			return v
		}
		return Row{v.typ, cloneValue(v.values).([]any)}
	}
	return v
}

// Equal reports whether both rows have the same field names and values. Decimals are compared as numbers, times as instants,
// and a NaN equals a NaN.
func (r Row) Equal(o Row) bool { return equalValues(r, o) }

func equalValues(a, b any) bool {
	switch a := a.(type) {
	case Decimal:
		b, ok := b.(Decimal)
		return ok && a.Cmp(b) == 0
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || a != a && b != b)
	case float32:
		b, ok := b.(float32)
		return ok && (a == b || a != a && b != b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalValues)
	case Row:
		b, ok := b.(Row)
		return ok && equalNames(a.typ, b.typ) && slices.EqualFunc(a.values, b.values, equalValues)
	}
	return reflect.DeepEqual(a, b)
}

func equalNames(a, b Type) bool {
	if a.row == b.row {
		return true
	}
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if a.Field(i).Name != b.Field(i).Name {
			return false
		}
	}
	return true
}

// String returns the row for people: "{origin: JFK, delay: null}".
func (r Row) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range r.values {
		if i > 0 {
			b.WriteString(", ")
		}
		if v == nil {
			v = "null"
		}
		fmt.Fprintf(&b, "%s: %v", r.typ.Field(i).Name, v)
	}
	b.WriteByte('}')
	return b.String()
}
