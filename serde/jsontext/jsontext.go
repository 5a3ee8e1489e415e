// Package jsontext encodes JSON whose shape is known at run time only: [Raw] keeps the text, [Values] makes Go values of
// it, and [Rows] makes rows of a type. For Go structs use serde.JSON.
//
// All three read one JSON value and nothing behind it, and refuse text that is not UTF-8, members of one name in an
// object, and more than 10,000 levels (rows: 500). Numbers are kept exactly or refused, but for fractions, which are float64.
package jsontext

import (
	"bytes"
	text "encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weirstream/weir/serde"
)

// Raw is the text itself, checked in both directions and kept as it is, white space included.
func Raw() serde.Serde[text.Value] { return raw{} }

type raw struct{}

func (raw) Append(dst []byte, v text.Value) ([]byte, error) {
	if !v.IsValid() {
		return dst, errors.New("jsontext: value is no JSON")
	}
	return append(dst, v...), nil
}

func (raw) Decode(b []byte) (text.Value, error) {
	if !text.Value(b).IsValid() {
		return nil, readError(b)
	}
	return bytes.Clone(b), nil
}

func (raw) Format() string              { return format }
func (raw) Accepts(stored string) error { return accepts(stored) }

// format is that of JSON whose shape nobody wrote down.
const format = "json"

// accepts lets any JSON through: serdes that know a shape name it behind the word.
func accepts(stored string) error {
	if stored == format || strings.HasPrefix(stored, format+" ") {
		return nil
	}
	return fmt.Errorf("%w: it was written as %.80q, and this program reads JSON", serde.ErrIncompatible, stored)
}

// readError says what is wrong with b, and where.
func readError(b []byte) error {
	d := text.NewDecoder(bytes.NewBuffer(b))
	if _, err := d.ReadValue(); err != nil {
		return wrap(err)
	}
	return wrap(end(d))
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("jsontext: %w", err)
}

// A Number is the text of an integer that needs more than 64 bits.
type Number string

// Values makes Go values of JSON, and JSON of them:
//
//	null      nil
//	boolean   bool
//	number    int64 if it is written as an integer and fits; else uint64 if it fits; else, for an integer, Number; for
//	          others float64, and an error when that is out of its range. -0 is float64
//	string    string
//	array     []any
//	object    map[string]any, written in the order of the names
//
// Append takes these types only, and refuses NaN and infinities. Floats are written so that they read as floats again.
func Values() serde.Serde[any] { return values{} }

type values struct{}

func (values) Format() string                           { return format }
func (values) Accepts(stored string) error              { return accepts(stored) }
func (values) Append(dst []byte, v any) ([]byte, error) { return appendAny(dst, v, 0) }

func (values) Decode(b []byte) (any, error) {
	d := open(b)
	defer d.close()
	v, err := d.any()
	if err == nil {
		err = end(&d.Decoder)
	}
	if err != nil {
		return nil, wrap(err)
	}
	return v, nil
}

// maxDepth is that of the text package's decoder; Append keeps to it so that what was written can be read.
const maxDepth = 10_000

var errTooDeep = errors.New("jsontext: value is nested too deep, or contains itself")

func appendAny(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v)
	case Number:
		if err := v.check(); err != nil {
			return dst, err
		}
		return append(dst, v...), nil
	case string:
		return quote(dst, v)
	case []any:
		return appendList(dst, v, depth+1)
	case map[string]any:
		return appendObject(dst, v, depth+1)
	}
	return dst, fmt.Errorf("jsontext: a Go %T is none of the types that Values has", v)
}

func appendFloat(dst []byte, v float64) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, fmt.Errorf("jsontext: JSON has no number for %v", v)
	}
	out := strconv.AppendFloat(dst, v, 'g', -1, 64)
	if !bytes.ContainsAny(out[len(dst):], ".e") {
		out = append(out, ".0"...)
	}
	return out, nil
}

// check lets through what Decode makes Numbers of.
func (n Number) check() error {
	digits := strings.TrimPrefix(string(n), "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" || digits[0] == '0' {
		return fmt.Errorf("jsontext: Number %.40q is no integer", string(n))
	}
	return nil
}

func quote(dst []byte, s string) ([]byte, error) {
	out, err := text.AppendQuote(dst, s)
	if err != nil {
		return dst, wrap(err)
	}
	return out, nil
}

func appendList(dst []byte, v []any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, errTooDeep
	}
	out := append(dst, '[')
	for i, e := range v {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendAny(out, e, depth); err != nil {
			return dst, serde.Within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return append(out, ']'), nil
}

func appendObject(dst []byte, v map[string]any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, errTooDeep
	}
	out := append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(v)) {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = quote(out, name); err != nil {
			return dst, err
		}
		if out, err = appendAny(append(out, ':'), v[name], depth); err != nil {
			return dst, serde.Within(fmt.Sprintf("[%q]", name), err)
		}
	}
	return append(out, '}'), nil
}

// A decoder reads tokens. Decoders are pooled: their buffers are worth keeping.
type decoder struct {
	text.Decoder
	in bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func open(b []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.in = *bytes.NewBuffer(b) // the text package reads a Buffer in place
	d.Reset(&d.in)
	return d
}

func (d *decoder) close() {
	d.in = bytes.Buffer{} // b belongs to the caller again
	d.Reset(&d.in)
	decoders.Put(d)
}

// end returns nil when nothing but white space is left.
func end(d *text.Decoder) error {
	if _, err := d.ReadToken(); err == nil {
		return errors.New("there is more behind the value")
	} else if err != io.EOF {
		return err
	}
	return nil
}

func (d *decoder) any() (any, error) {
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return t.Bool(), nil
	case '"':
		return t.String(), nil
	case '0':
		return number(t.String())
	case '[':
		return d.list()
	default:
		return d.object()
	}
}

// number keeps integers exactly.
func number(s string) (any, error) {
	if strings.ContainsAny(s, ".eE") || s == "-0" {
		return strconv.ParseFloat(s, 64)
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return u, nil
	}
	return Number(strings.Clone(s)), nil
}

func (d *decoder) list() (any, error) {
	v := []any{}
	for d.PeekKind() != ']' {
		e, err := d.any()
		if err != nil {
			return nil, err
		}
		v = append(v, e)
	}
	_, err := d.ReadToken()
	return v, err
}

func (d *decoder) object() (any, error) {
	v := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if v[key], err = d.any(); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return v, err
}
