package jsontext

import (
	text "encoding/json/jsontext"
	"fmt"
	"maps"
	"slices"

	"github.com/weirstream/weir/serde"
)

// Rows makes rows of JSON objects:
//
//	null                 null
//	boolean              boolean
//	integers             number, read without fraction or exponent and within the type's range
//	floats               number; "NaN", "Infinity" and "-Infinity" as strings
//	decimal              string of plain digits; a number is read too, digit by digit
//	string               string
//	bytes                string in base64
//	date, time,          string, as serde.Type's AppendText says: timestamps are written in UTC and read with any
//	timestamps           offset, local ones have none
//	array                array
//	map                  object, written in the order of the names
//	row                  object, written in the order of the fields; nulls are written
//
// A member that the type does not have is ignored. A field that has no member is null, and an error if it cannot be null.
func Rows(t serde.Type) serde.Serde[serde.Row] { return rows{t.NotNull(), serde.Rows(t)} }

type rows struct {
	typ serde.Type
	own serde.Serde[serde.Row] // for what all rows have in common
}

func (s rows) Format() string { return "json " + s.own.Format() }
func (s rows) Problem() error { return serde.Problem(s.own) }

func (s rows) Append(dst []byte, v serde.Row) ([]byte, error) {
	if err := s.typ.Check(v); err != nil {
		return dst, wrap(err)
	}
	out, err := appendValue(dst, s.typ, v)
	if err != nil {
		return dst, wrap(err)
	}
	return out, nil
}

// appendValue appends a value that was checked: only text can be missing, of a year or a string.
func appendValue(dst []byte, t serde.Type, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return quote(dst, v)
	case []any:
		return appendArray(dst, t.Elem(), v)
	case map[string]any:
		return appendMap(dst, t.Elem(), v)
	case serde.Row:
		return appendRow(dst, t, v)
	}
	if plainText(v) {
		return t.AppendText(dst, v)
	}
	out, err := t.AppendText(append(dst, '"'), v) // none of these texts has a character to escape
	return append(out, '"'), err
}

// plainText reports whether a scalar's text stands in JSON as it is.
func plainText(v any) bool {
	switch v := v.(type) {
	case float32:
		return v-v == 0 // neither NaN nor infinite
	case float64:
		return v-v == 0
	case bool, int32, int64, uint64:
		return true
	}
	return false
}

func appendArray(dst []byte, elem serde.Type, v []any) (out []byte, err error) {
	dst = append(dst, '[')
	for i, e := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, elem, e); err != nil {
			return dst, serde.Within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, elem serde.Type, v map[string]any) (out []byte, err error) {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(v)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = quote(dst, name); err != nil {
			return dst, err
		}
		if dst, err = appendValue(append(dst, ':'), elem, v[name]); err != nil {
			return dst, serde.Within(fmt.Sprintf("[%q]", name), err)
		}
	}
	return append(dst, '}'), nil
}

func appendRow(dst []byte, t serde.Type, v serde.Row) (out []byte, err error) {
	dst = append(dst, '{')
	for i := range t.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := t.Field(i)
		if dst, err = quote(dst, f.Name); err != nil {
			return dst, err
		}
		if dst, err = appendValue(append(dst, ':'), f.Type, v.At(i)); err != nil {
			return dst, serde.Within("."+f.Name, err)
		}
	}
	return append(dst, '}'), nil
}

func (s rows) Decode(b []byte) (serde.Row, error) {
	d := open(b)
	defer d.close()
	v, err := d.value(s.typ, 0)
	if err == nil {
		err = end(&d.Decoder)
	}
	if err != nil {
		return serde.Row{}, wrap(err)
	}
	return v.(serde.Row), nil
}

// maxRowDepth is how deep rows may be nested, as in every format.
const maxRowDepth = 500

// value reads a value of type t.
func (d *decoder) value(t serde.Type, depth int) (any, error) {
	if depth > maxRowDepth {
		return nil, errTooDeep
	}
	switch kind := d.PeekKind(); {
	case kind == 'n' && t.Nullable():
		_, err := d.ReadToken()
		return nil, err
	case kind == '[' && t.Kind() == serde.KindArray:
		return d.array(t.Elem(), depth)
	case kind == '{' && t.Kind() == serde.KindMap:
		return d.mapping(t.Elem(), depth)
	case kind == '{' && t.Kind() == serde.KindRow:
		return d.row(t, depth)
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if !spells(token, t) {
		return nil, fmt.Errorf("%v where %v is expected", token.Kind(), t)
	}
	return t.ParseText(token.String())
}

// spells reports whether the token is of the kind that a scalar of type t is written as.
func spells(token text.Token, t serde.Type) bool {
	switch t.Kind() {
	case serde.KindBoolean:
		return token.Kind() == 't' || token.Kind() == 'f'
	case serde.KindInt32, serde.KindInt64, serde.KindUint64:
		return token.Kind() == '0'
	case serde.KindFloat32, serde.KindFloat64:
		if token.Kind() == '"' {
			s := token.String()
			return s == "NaN" || s == "Infinity" || s == "-Infinity"
		}
		return token.Kind() == '0'
	case serde.KindDecimal:
		return token.Kind() == '0' || token.Kind() == '"'
	case serde.KindNull, serde.KindArray, serde.KindMap, serde.KindRow:
		return false
	}
	return token.Kind() == '"'
}

func (d *decoder) array(elem serde.Type, depth int) (any, error) {
	v := []any{}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != ']' {
		e, err := d.value(elem, depth+1)
		if err != nil {
			return nil, serde.Within(fmt.Sprintf("[%d]", len(v)), err)
		}
		v = append(v, e)
	}
	_, err := d.ReadToken()
	return v, err
}

func (d *decoder) mapping(elem serde.Type, depth int) (any, error) {
	v := map[string]any{}
	err := d.members(func(name string) (err error) {
		v[name], err = d.value(elem, depth+1)
		if err != nil {
			return serde.Within(fmt.Sprintf("[%q]", name), err)
		}
		return nil
	})
	return v, err
}

func (d *decoder) row(t serde.Type, depth int) (any, error) {
	values, seen := make([]any, t.Len()), make([]bool, t.Len())
	err := d.members(func(name string) (err error) {
		i := t.Index(name)
		if i < 0 {
			return d.SkipValue()
		}
		seen[i] = true
		if values[i], err = d.value(t.Field(i).Type, depth+1); err != nil {
			return serde.Within("."+name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, found := range seen {
		if f := t.Field(i); !found && !f.Type.Nullable() {
			return nil, serde.Within("."+f.Name, fmt.Errorf("missing, and %v cannot be null", f.Type))
		}
	}
	return serde.MakeRow(t, values), nil
}

// members calls read for each member of an object, which it lets read the value.
func (d *decoder) members(read func(name string) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := read(name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}
