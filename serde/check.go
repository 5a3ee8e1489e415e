package serde

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// maxDepth is how deep values may be nested, in what is checked, encoded and decoded.
const maxDepth = 500

var (
	errTooDeep = fmt.Errorf("serde: value is nested deeper than %d levels", maxDepth)
	errNotUTF8 = errors.New("serde: string is not UTF-8")
)

// A pathError says where in a value err was found.
type pathError struct {
	path string // .field, [index] or ["key"], outermost first
	err  error
}

func (e *pathError) Error() string { return strings.TrimPrefix(e.path, ".") + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// Within says that err was found in a part of a value: ".field", "[3]" or a path of such parts. Paths of nested calls
// join, so a format that walks a value builds no path until something is wrong. Within of nil is nil. For formats.
func Within(part string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*pathError); ok {
		return &pathError{part + inner.path, inner.err}
	}
	return &pathError{part, err}
}

// Check returns nil when v is a value of this type, else an error that says where it is not. It does not convert: an int is no
// int32.
func (t Type) Check(v any) error { return t.check(v, 0) }

func (t Type) check(v any, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	if v == nil {
		if !t.Nullable() {
			return fmt.Errorf("null for %v, which has none", t)
		}
		return nil
	}
	fits := false
	switch t.kind {
	case KindBoolean:
		_, fits = v.(bool)
	case KindInt32:
		_, fits = v.(int32)
	case KindInt64:
		_, fits = v.(int64)
	case KindUint64:
		_, fits = v.(uint64)
	case KindFloat32:
		_, fits = v.(float32)
	case KindFloat64:
		_, fits = v.(float64)
	case KindDate:
		_, fits = v.(Date)
	case KindTimestamp:
		_, fits = v.(time.Time)
	case KindBytes:
		_, fits = v.([]byte)
	case KindDecimal, KindString, KindTime, KindLocalTimestamp:
		return t.checkRange(v)
	case KindArray, KindMap, KindRow:
		return t.checkParts(v, depth)
	}
	if !fits {
		return t.misfit(v)
	}
	return nil
}

func (t Type) misfit(v any) error { return fmt.Errorf("a Go %T is no value of %v", v, t) }

// checkRange looks at kinds whose Go type has more values than they have.
func (t Type) checkRange(v any) error {
	switch v := v.(type) {
	case Decimal:
		if t.kind == KindDecimal {
			_, err := v.Fit(t)
			return err
		}
	case string:
		if t.kind == KindString {
			if !utf8.ValidString(v) {
				return errNotUTF8
			}
			return nil
		}
	case time.Time:
		if t.kind == KindLocalTimestamp {
			if v.Location() != time.UTC {
				return fmt.Errorf("serde: a local timestamp has no zone, and this time has %v; put its date and time into UTC", v.Location())
			}
			return nil
		}
	case time.Duration:
		if t.kind == KindTime {
			return checkTimeOfDay(v)
		}
	}
	return t.misfit(v)
}

func checkTimeOfDay(d time.Duration) error {
	if d < 0 || d >= 24*time.Hour {
		return fmt.Errorf("serde: %v since midnight is no time of day", d)
	}
	return nil
}

func (t Type) checkParts(v any, depth int) error {
	switch v := v.(type) {
	case []any:
		if t.kind != KindArray {
			break
		}
		for i, e := range v {
			if err := t.elem.check(e, depth+1); err != nil {
				return Within(fmt.Sprintf("[%d]", i), err)
			}
		}
		return nil
	case map[string]any:
		if t.kind != KindMap {
			break
		}
		for k, e := range v {
			if !utf8.ValidString(k) {
				return errNotUTF8
			}
			if err := t.elem.check(e, depth+1); err != nil {
				return Within(fmt.Sprintf("[%q]", k), err)
			}
		}
		return nil
	case Row:
		if t.kind == KindRow {
			return t.checkRow(v, depth)
		}
	}
	return t.misfit(v)
}

func (t Type) checkRow(r Row, depth int) error {
	if len(r.values) != t.Len() || !equalNames(t, r.typ) {
		return fmt.Errorf("a row of %d values and %v is no value of %v", len(r.values), r.typ, t)
	}
	for i, v := range r.values {
		f := &t.row.fields[i]
		if err := f.Type.check(v, depth+1); err != nil {
			return Within("."+f.Name, err)
		}
	}
	return nil
}
