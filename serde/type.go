package serde

import (
	"errors"
	"fmt"
	"strings"
)

// A Kind is what a dynamic value is. Beside each is the Go type that holds it in a [Row].
type Kind uint8

// The kinds.
const (
	KindNull           Kind = iota // nil: the type of what is always null
	KindBoolean                    // bool
	KindInt32                      // int32, also for smaller integers
	KindInt64                      // int64
	KindUint64                     // uint64
	KindFloat32                    // float32
	KindFloat64                    // float64
	KindDecimal                    // Decimal
	KindString                     // string, valid UTF-8
	KindBytes                      // []byte
	KindDate                       // Date
	KindTime                       // time.Duration since midnight, at least 0 and less than 24 h
	KindTimestamp                  // time.Time: an instant. Its zone is not kept, it decodes in UTC
	KindLocalTimestamp             // time.Time in UTC: a date and time of day with no zone, as on a wall
	KindArray                      // []any
	KindMap                        // map[string]any
	KindRow                        // Row
	kinds                          // how many there are
)

var kindNames = [kinds]string{"null", "boolean", "int32", "int64", "uint64", "float32", "float64", "decimal", "string", "bytes",
	"date", "time", "timestamp", "local timestamp", "array", "map", "row"}

// String returns the name of the kind, as "local timestamp".
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Type returns the type of this kind. Decimals, arrays, maps and rows have types of their own constructors.
func (k Kind) Type() Type { return Type{kind: k} }

// A Type is the schema of a dynamic value: what formats, connectors and programs that learn their schemas at run time
// share. It does not change once made, and copies are cheap. The zero Type is that of null.
//
// Formats have types that this has not. Each converts by rules that its package states: an Avro enum, for example, is a string here.
type Type struct {
	kind             Kind
	nullable         bool
	precision, scale int
	elem             *Type
	row              *rowType // shared, so that a row may contain itself
}

// rowType is the part of a row's type that copies share.
type rowType struct {
	name   string
	fields []Field
	index  map[string]int
}

// A Field is one part of a row.
type Field struct {
	Name string
	Type Type
}

// OrNull returns the type of the same values and null.
func (t Type) OrNull() Type { t.nullable = true; return t }

// NotNull returns the type of the same values without null.
func (t Type) NotNull() Type { t.nullable = false; return t }

// DecimalType is the type of decimals of at most precision digits, scale of them behind the point. Both are at least 0.
func DecimalType(precision, scale int) Type {
	return Type{kind: KindDecimal, precision: precision, scale: scale}
}

// ArrayType is the type of lists.
func ArrayType(elem Type) Type { return Type{kind: KindArray, elem: &elem} }

// MapType is the type of maps from strings.
func MapType(elem Type) Type { return Type{kind: KindMap, elem: &elem} }

// RowType is the type of rows with these fields, in this order. The name may be empty.
func RowType(name string, fields ...Field) Type {
	return RecursiveRowType(name, func(Type) []Field { return fields })
}

// RecursiveRowType is RowType for rows that contain themselves: fields gets the type that is being made.
func RecursiveRowType(name string, fields func(self Type) []Field) Type {
	t := Type{kind: KindRow, row: &rowType{name: name}}
	t.row.fields = append([]Field(nil), fields(t)...)
	t.row.index = make(map[string]int, len(t.row.fields))
	for i, f := range t.row.fields {
		t.row.index[f.Name] = i
	}
	return t
}

// Kind returns the kind of the values, null aside.
func (t Type) Kind() Kind { return t.kind }

// Nullable reports whether a value may be null.
func (t Type) Nullable() bool { return t.nullable || t.kind == KindNull }

// Precision returns the digits of a decimal, 0 for other kinds.
func (t Type) Precision() int { return t.precision }

// Scale returns the digits of a decimal behind the point, 0 for other kinds.
func (t Type) Scale() int { return t.scale }

// Elem returns the type of the elements of an array or the values of a map, the type of null for other kinds.
func (t Type) Elem() Type {
	if t.elem == nil {
		return Type{}
	}
	return *t.elem
}

// Name returns the name of a row's type, "" for other kinds.
func (t Type) Name() string {
	if t.row == nil {
		return ""
	}
	return t.row.name
}

// Len returns how many fields a row has, 0 for other kinds.
func (t Type) Len() int {
	if t.row == nil {
		return 0
	}
	return len(t.row.fields)
}

// Field returns the i-th field of a row.
func (t Type) Field(i int) Field { return t.row.fields[i] }

// Index returns where the field of this name is, -1 if there is none.
func (t Type) Index(name string) int {
	if t.row != nil {
		if i, ok := t.row.index[name]; ok {
			return i
		}
	}
	return -1
}

// Problem returns what is wrong with the type itself: a scale beyond its precision, two fields of one name, a decimal
// without digits, a row that always contains itself.
func (t Type) Problem() error { return t.problem("", map[*rowType]bool{}) }

func (t Type) problem(path string, seen map[*rowType]bool) error {
	switch t.kind {
	case KindDecimal:
		if t.precision < 1 || t.precision > MaxPrecision || t.scale < 0 || t.scale > t.precision {
			return at(path, fmt.Errorf("decimal(%d,%d): precision is 1 to %d, scale 0 to precision", t.precision, t.scale, MaxPrecision))
		}
	case KindArray, KindMap:
		if t.elem == nil {
			return at(path, fmt.Errorf("%v without elements: use ArrayType or MapType", t.kind))
		}
		return t.elem.problem(path+"[]", seen)
	case KindRow:
		return t.rowProblem(path, seen)
	default:
		if t.kind >= kinds {
			return at(path, fmt.Errorf("no type has %v", t.kind))
		}
	}
	return nil
}

func (t Type) rowProblem(path string, seen map[*rowType]bool) error {
	if t.row == nil {
		return at(path, errors.New("row without fields: use RowType"))
	}
	if seen[t.row] {
		return nil
	}
	seen[t.row] = true
	if len(t.row.index) != len(t.row.fields) {
		return at(path, fmt.Errorf("row %q has two fields of one name", t.row.name))
	}
	if t.row.endless(t.row, map[*rowType]bool{}) {
		return at(path, fmt.Errorf("row %q always contains itself: a field on the way must be nullable, an array or a map", t.row.name))
	}
	for _, f := range t.row.fields {
		if err := f.Type.problem(path+"."+f.Name, seen); err != nil {
			return err
		}
	}
	return nil
}

// endless reports whether r is reached from itself through fields that are always there.
func (r *rowType) endless(from *rowType, seen map[*rowType]bool) bool {
	if seen[r] {
		return r == from
	}
	seen[r] = true
	for _, f := range r.fields {
		if next := f.Type.row; next != nil && !f.Type.nullable && (next == from || next.endless(from, seen)) {
			return true
		}
	}
	return false
}

// String returns the type in words, as "row flight<origin string, delay int32?>". A question mark is OrNull. A row within
// itself is its name alone.
func (t Type) String() string {
	var b strings.Builder
	t.print(&b, map[*rowType]bool{})
	return b.String()
}

func (t Type) print(b *strings.Builder, within map[*rowType]bool) {
	b.WriteString(t.kind.String())
	switch t.kind {
	case KindDecimal:
		fmt.Fprintf(b, "(%d,%d)", t.precision, t.scale)
	case KindArray, KindMap:
		b.WriteByte('<')
		t.Elem().print(b, within)
		b.WriteByte('>')
	case KindRow:
		t.printRow(b, within)
	}
	if t.nullable {
		b.WriteByte('?')
	}
}

func (t Type) printRow(b *strings.Builder, within map[*rowType]bool) {
	if name := t.Name(); name != "" {
		b.WriteByte(' ')
		b.WriteString(name)
	}
	if t.row == nil || within[t.row] {
		return
	}
	within[t.row] = true
	defer delete(within, t.row)
	b.WriteByte('<')
	for i, f := range t.row.fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.Name)
		b.WriteByte(' ')
		f.Type.print(b, within)
	}
	b.WriteByte('>')
}
