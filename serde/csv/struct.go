package csv

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/weirstream/weir/serde"
)

// Of makes structs of lines: one field for each exported field of T in the order of their declaration, but those
// tagged `csv:"-"`. The name in the tag, `csv:"dep_delay"`, is for messages only.
//
// A field may be a string, boolean, integer or float of any size, a time.Time (as RFC 3339), a serde.Date or serde.Decimal, a
// type that marshals itself as text, or a pointer to one of these, which is nil for null. Anything else, and unexported fields, which a
// line would lose, are a Build error.
func Of[T any](opts ...Option) serde.Serde[T] {
	s := structs[T]{dialect: newDialect(opts)}
	s.columns, s.problem = columnsOf(reflect.TypeFor[T]())
	return s
}

type structs[T any] struct {
	dialect
	columns []column
	problem error
}

// A column is a field of the struct.
type column struct {
	name    string
	index   int
	pointer bool
	typ     serde.Type // how its text is read; the type of null when it marshals itself
}

func columnsOf(t reflect.Type) ([]column, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("csv.Of[%v]: it is no struct", t)
	}
	var columns []column
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("csv")
		switch {
		case name == "-" || f.Name == "_":
			continue
		case !f.IsExported():
			return nil, fmt.Errorf("csv.Of[%v]: field %s is not exported, a line would lose it; export it or tag it `csv:\"-\"`", t, f.Name)
		case name == "":
			name = f.Name
		}
		c := column{name: name, index: i, pointer: f.Type.Kind() == reflect.Pointer}
		elem := f.Type
		if c.pointer {
			elem = elem.Elem()
		}
		var ok bool
		if c.typ, ok = textType(elem); !ok {
			return nil, fmt.Errorf("csv.Of[%v]: field %s: a line has no place for %v", t, f.Name, f.Type)
		}
		columns = append(columns, c)
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("csv.Of[%v]: it has no fields, and a line has at least one", t)
	}
	return columns, nil
}

var (
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// textType returns how values of t are written as text: the type of null says that they do it themselves.
func textType(t reflect.Type) (serde.Type, bool) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return serde.KindTimestamp.Type(), true
	case reflect.TypeFor[serde.Date]():
		return serde.KindDate.Type(), true
	case reflect.TypeFor[serde.Decimal]():
		return serde.DecimalType(serde.MaxPrecision, 0), true
	}
	if p := reflect.PointerTo(t); p.Implements(textMarshaler) && p.Implements(textUnmarshaler) {
		return serde.Type{}, true
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		return serde.KindString.Type(), true
	case k == reflect.Bool:
		return serde.KindBoolean.Type(), true
	case reflect.Int <= k && k <= reflect.Int64:
		return serde.KindInt64.Type(), true
	case reflect.Uint <= k && k <= reflect.Uint64:
		return serde.KindUint64.Type(), true
	case k == reflect.Float32:
		return serde.KindFloat32.Type(), true
	case k == reflect.Float64:
		return serde.KindFloat64.Type(), true
	}
	return serde.Type{}, false
}

func (s structs[T]) Format() string { return s.format() }

// Problem returns what is wrong with the options or the type.
func (s structs[T]) Problem() error { return errors.Join(s.dialect.Problem(), s.problem) }

func (s structs[T]) Append(dst []byte, v T) ([]byte, error) {
	if s.problem != nil {
		return dst, s.problem
	}
	out, r := dst, reflect.ValueOf(&v).Elem()
	for i, c := range s.columns {
		if i > 0 {
			out = append(out, byte(s.comma))
		}
		f := r.Field(c.index)
		if c.pointer {
			if f.IsNil() {
				out = append(out, s.null...)
				continue
			}
			f = f.Elem()
		}
		from, err := len(out), error(nil)
		if out, err = c.appendText(out, f); err != nil {
			return dst, fmt.Errorf("csv: %s: %w", c.name, err)
		}
		out = s.finish(out, from, c.pointer)
	}
	return out, nil
}

// appendText appends the value f, which is no pointer.
func (c column) appendText(dst []byte, f reflect.Value) ([]byte, error) {
	switch c.typ.Kind() {
	case serde.KindNull:
		text, err := f.Addr().Interface().(encoding.TextMarshaler).MarshalText()
		return append(dst, text...), err
	case serde.KindString:
		if err := c.typ.Check(f.String()); err != nil {
			return dst, err
		}
		return append(dst, f.String()...), nil
	case serde.KindBoolean:
		return c.typ.AppendText(dst, f.Bool())
	case serde.KindInt64:
		return c.typ.AppendText(dst, f.Int())
	case serde.KindUint64:
		return c.typ.AppendText(dst, f.Uint())
	case serde.KindFloat32:
		return c.typ.AppendText(dst, float32(f.Float()))
	case serde.KindFloat64:
		return c.typ.AppendText(dst, f.Float())
	case serde.KindDecimal: // of any scale
		return append(dst, f.Interface().(serde.Decimal).String()...), nil
	}
	return c.typ.AppendText(dst, f.Interface())
}

func (s structs[T]) Decode(b []byte) (T, error) {
	var v T
	if err := s.decode(b, reflect.ValueOf(&v).Elem()); err != nil {
		return *new(T), err
	}
	return v, nil
}

func (s structs[T]) decode(b []byte, v reflect.Value) error {
	if s.problem != nil {
		return s.problem
	}
	line := s.scan(b)
	for i, c := range s.columns {
		if !line.more {
			return fmt.Errorf("csv: line has %d fields, want %d", i, len(s.columns))
		}
		field, quoted, err := line.next()
		if err == nil && (quoted || !c.pointer || string(field) != s.null) {
			err = c.set(v.Field(c.index), string(field))
		}
		if err != nil {
			return fmt.Errorf("csv: %s: %w", c.name, err)
		}
	}
	if line.more {
		return fmt.Errorf("csv: line has more than %d fields", len(s.columns))
	}
	return nil
}

// set reads text into the field f.
func (c column) set(f reflect.Value, text string) error {
	if c.pointer {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	switch c.typ.Kind() {
	case serde.KindNull:
		return f.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	case serde.KindDecimal:
		d, err := serde.ParseDecimal(text)
		f.Set(reflect.ValueOf(d))
		return err
	}
	v, err := c.typ.ParseText(text)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case string:
		f.SetString(v)
	case bool:
		f.SetBool(v)
	case int64:
		if f.OverflowInt(v) {
			return fmt.Errorf("%d does not fit %v", v, f.Type())
		}
		f.SetInt(v)
	case uint64:
		if f.OverflowUint(v) {
			return fmt.Errorf("%d does not fit %v", v, f.Type())
		}
		f.SetUint(v)
	case float32:
		f.SetFloat(float64(v))
	case float64:
		f.SetFloat(v)
	default:
		f.Set(reflect.ValueOf(v))
	}
	return nil
}
