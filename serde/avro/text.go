package avro

import (
	"reflect"
	"unicode/utf8"
	"unsafe"
)

// Avro strings are UTF-8, and codecs pass other bytes through. What is refused has to be refused on both sides, or a
// program writes what it cannot read. Looking at the Go value instead of the bytes costs a few nanoseconds a string.

// A textCheck tells whether all strings in what p points to are UTF-8. A nil textCheck is one that never finds fault.
type textCheck func(p unsafe.Pointer) bool

// textCheckOf compiles the check of a type. Fields that carry arbitrary text in a Go string for Avro bytes do not exist
// in derived schemas.
func textCheckOf(t reflect.Type) textCheck {
	return textChecks{}.of(t)
}

// textChecks holds the checks of types under way, for types that contain themselves. A type that is not finished
// yet is reached through its entry.
type textChecks map[reflect.Type]*textCheck

func (c textChecks) of(t reflect.Type) textCheck {
	if entry, ok := c[t]; ok {
		return func(p unsafe.Pointer) bool { return *entry == nil || (*entry)(p) }
	}
	entry := new(textCheck)
	c[t] = entry
	defer delete(c, t)
	*entry = c.compile(t)
	return *entry
}

func (c textChecks) compile(t reflect.Type) textCheck {
	switch t.Kind() {
	case reflect.String:
		return func(p unsafe.Pointer) bool { return validText(*(*string)(p)) }
	case reflect.Struct:
		return c.structOf(t)
	case reflect.Pointer:
		if elem := c.of(t.Elem()); elem != nil {
			return func(p unsafe.Pointer) bool {
				to := *(*unsafe.Pointer)(p)
				return to == nil || elem(to)
			}
		}
	case reflect.Slice, reflect.Array:
		return c.listOf(t)
	case reflect.Map:
		return func(p unsafe.Pointer) bool { return validMap(reflect.NewAt(t, p).Elem()) }
	case reflect.Interface:
		return func(p unsafe.Pointer) bool { return validAny(reflect.NewAt(t, p).Elem().Interface()) }
	}
	return nil
}

// validText is utf8.ValidString with a short way for short ASCII, which is what most fields of records hold.
func validText(s string) bool {
	if len(s) > 16 {
		return utf8.ValidString(s)
	}
	var bits byte
	for i := range len(s) {
		bits |= s[i]
	}
	return bits < utf8.RuneSelf || utf8.ValidString(s)
}

// structOf has the offsets of plain string fields in one loop, because that is what most records are made of.
func (c textChecks) structOf(t reflect.Type) textCheck {
	type part struct {
		offset uintptr
		check  textCheck
	}
	var strings []uintptr
	var parts []part
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Type.Kind() == reflect.String {
			strings = append(strings, f.Offset)
		} else if check := c.of(f.Type); check != nil {
			parts = append(parts, part{f.Offset, check})
		}
	}
	if strings == nil && parts == nil {
		return nil
	}
	return func(p unsafe.Pointer) bool {
		for _, offset := range strings {
			if !validText(*(*string)(unsafe.Add(p, offset))) {
				return false
			}
		}
		for _, part := range parts {
			if !part.check(unsafe.Add(p, part.offset)) {
				return false
			}
		}
		return true
	}
}

func (c textChecks) listOf(t reflect.Type) textCheck {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String {
		return func(p unsafe.Pointer) bool {
			for _, s := range *(*[]string)(p) {
				if !validText(s) {
					return false
				}
			}
			return true
		}
	}
	elem := c.of(t.Elem())
	if elem == nil {
		return nil
	}
	size := t.Elem().Size()
	if t.Kind() == reflect.Array {
		return func(p unsafe.Pointer) bool { return validRun(p, t.Len(), size, elem) }
	}
	return func(p unsafe.Pointer) bool {
		// A slice of anything has the layout of a slice of bytes.
		s := *(*[]byte)(p)
		return validRun(unsafe.Pointer(unsafe.SliceData(s)), len(s), size, elem)
	}
}

func validRun(p unsafe.Pointer, n int, size uintptr, elem textCheck) bool {
	for i := range n {
		if !elem(unsafe.Add(p, uintptr(i)*size)) {
			return false
		}
	}
	return true
}

// validMap checks keys, and values by their dynamic form: entries of a map have no address.
func validMap(m reflect.Value) bool {
	for it := m.MapRange(); it.Next(); {
		if k := it.Key(); k.Kind() == reflect.String && !utf8.ValidString(k.String()) {
			return false
		}
		if !validValue(it.Value()) {
			return false
		}
	}
	return true
}

// validAny checks a dynamic value as codecs make them; anything else goes by reflection.
func validAny(v any) bool {
	switch v := v.(type) {
	case nil, bool, int32, int64, float32, float64, []byte:
		return true
	case string:
		return utf8.ValidString(v)
	case []any:
		for _, e := range v {
			if !validAny(e) {
				return false
			}
		}
		return true
	case map[string]any:
		for k, e := range v {
			if !utf8.ValidString(k) || !validAny(e) {
				return false
			}
		}
		return true
	}
	return validValue(reflect.ValueOf(v))
}

func validValue(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Map:
		return validMap(v)
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || validValue(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if k := v.Type().Elem().Kind(); reflect.Bool <= k && k <= reflect.Complex128 {
				return true
			}
			if !validValue(v.Index(i)) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !validValue(v.Field(i)) {
				return false
			}
		}
	}
	return true
}
