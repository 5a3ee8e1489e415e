package protobuf

import (
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weirstream/weir/serde"
)

// RowType returns the type of rows of this message, by the rules of the package comment.
func RowType(md protoreflect.MessageDescriptor) (serde.Type, error) {
	if md.IsMapEntry() {
		return serde.Type{}, fmt.Errorf("protobuf: %s is the entry of a map, not a message", md.FullName())
	}
	t := types{}.message(md)
	if err := t.Problem(); err != nil {
		return serde.Type{}, fmt.Errorf("protobuf: rows of %s: %w", md.FullName(), err)
	}
	return t, nil
}

// types has the types of the messages that were met, so that those which contain themselves end.
type types map[protoreflect.FullName]serde.Type

func (ts types) message(md protoreflect.MessageDescriptor) serde.Type {
	if t, ok := ts[md.FullName()]; ok {
		return t
	}
	return serde.RecursiveRowType(string(md.FullName()), func(self serde.Type) []serde.Field {
		ts[md.FullName()] = self
		fields := make([]serde.Field, md.Fields().Len())
		for i := range fields {
			fd := md.Fields().Get(i)
			fields[i] = serde.Field{Name: string(fd.Name()), Type: ts.field(fd)}
		}
		return fields
	})
}

func (ts types) field(fd protoreflect.FieldDescriptor) serde.Type {
	switch {
	case fd.IsMap():
		return serde.MapType(ts.single(fd.MapValue()))
	case fd.IsList():
		return serde.ArrayType(ts.single(fd))
	case fd.HasPresence() && fd.Cardinality() != protoreflect.Required:
		return ts.single(fd).OrNull()
	}
	return ts.single(fd)
}

// single is the type of one value of the field.
func (ts types) single(fd protoreflect.FieldDescriptor) serde.Type {
	if md := fd.Message(); md != nil {
		switch {
		case md.FullName() == timestampName:
			return serde.KindTimestamp.Type()
		case isWrapper(md):
			return scalarKind(md.Fields().Get(0).Kind()).Type()
		}
		return ts.message(md)
	}
	return scalarKind(fd.Kind()).Type()
}

const timestampName = "google.protobuf.Timestamp"

// isWrapper reports whether a message is one of google/protobuf/wrappers.proto: a scalar that may be missing.
func isWrapper(md protoreflect.MessageDescriptor) bool {
	return md.ParentFile().Path() == "google/protobuf/wrappers.proto"
}

func scalarKind(k protoreflect.Kind) serde.Kind {
	switch k {
	case protoreflect.BoolKind:
		return serde.KindBoolean
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return serde.KindInt32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return serde.KindUint64
	case protoreflect.FloatKind:
		return serde.KindFloat32
	case protoreflect.DoubleKind:
		return serde.KindFloat64
	case protoreflect.BytesKind:
		return serde.KindBytes
	case protoreflect.StringKind, protoreflect.EnumKind:
		return serde.KindString
	}
	return serde.KindInt64
}

// ToRow makes a row of a message.
func ToRow(m protoreflect.Message) (serde.Row, error) {
	t, err := RowType(m.Descriptor())
	if err != nil {
		return serde.Row{}, err
	}
	return toRow(m, t)
}

func toRow(m protoreflect.Message, t serde.Type) (serde.Row, error) {
	values := make([]any, t.Len())
	for i := range values {
		fd := m.Descriptor().Fields().Get(i)
		if fd.HasPresence() && !m.Has(fd) {
			continue
		}
		var err error
		if values[i], err = fieldValue(fd, m.Get(fd), t.Field(i).Type); err != nil {
			return serde.Row{}, serde.Within("."+string(fd.Name()), err)
		}
	}
	return serde.MakeRow(t, values), nil
}

func fieldValue(fd protoreflect.FieldDescriptor, v protoreflect.Value, t serde.Type) (any, error) {
	switch {
	case fd.IsMap():
		values := make(map[string]any, v.Map().Len())
		var err error
		v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
			values[k.String()], err = singleValue(fd.MapValue(), e, t.Elem())
			return err == nil
		})
		return values, err
	case fd.IsList():
		values := make([]any, v.List().Len())
		for i := range values {
			var err error
			if values[i], err = singleValue(fd, v.List().Get(i), t.Elem()); err != nil {
				return nil, serde.Within(fmt.Sprintf("[%d]", i), err)
			}
		}
		return values, nil
	}
	return singleValue(fd, v, t)
}

// singleValue makes a value of a row, with nothing of the message in it.
func singleValue(fd protoreflect.FieldDescriptor, v protoreflect.Value, t serde.Type) (any, error) {
	if md := fd.Message(); md != nil {
		m := v.Message()
		switch {
		case md.FullName() == timestampName:
			return timeOf(m)
		case isWrapper(md):
			inner := md.Fields().Get(0)
			return singleValue(inner, m.Get(inner), t)
		}
		return toRow(m, t)
	}
	switch fd.Kind() {
	case protoreflect.EnumKind:
		if ev := fd.Enum().Values().ByNumber(v.Enum()); ev != nil {
			return string(ev.Name()), nil
		}
		return strconv.Itoa(int(v.Enum())), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return int64(v.Uint()), nil
	case protoreflect.StringKind:
		if s := v.String(); !utf8.ValidString(s) { // proto2 does not ask for it
			return nil, fmt.Errorf("protobuf: string is not UTF-8")
		}
		return v.String(), nil
	case protoreflect.BytesKind:
		return append([]byte{}, v.Bytes()...), nil
	}
	return v.Interface(), nil
}

// The years 1 to 9999, which is what a Timestamp may hold.
const (
	minTimestamp = -62135596800
	maxTimestamp = 253402300799
)

func timeOf(m protoreflect.Message) (any, error) {
	fields := m.Descriptor().Fields()
	seconds, nanos := m.Get(fields.ByNumber(1)).Int(), m.Get(fields.ByNumber(2)).Int()
	if seconds < minTimestamp || seconds > maxTimestamp || nanos < 0 || nanos >= int64(time.Second) {
		return nil, fmt.Errorf("protobuf: timestamp of %d s and %d ns is out of range", seconds, nanos)
	}
	return time.Unix(seconds, nanos).UTC(), nil
}

// FromRow makes a message of a row. Fields are matched by name; one of the row that the message has not is an error unless it is
// null. Integers of any kind are taken where they fit, and float32 for double.
func FromRow(r serde.Row, md protoreflect.MessageDescriptor) (*dynamicpb.Message, error) {
	m := dynamicpb.NewMessage(md)
	if err := fill(m, r, 0); err != nil {
		return nil, fmt.Errorf("protobuf: %s: %w", md.FullName(), err)
	}
	return m, nil
}

func fill(m protoreflect.Message, r serde.Row, depth int) error {
	if depth > rowDepth {
		return fmt.Errorf("row is nested deeper than %d levels", rowDepth)
	}
	for i := range r.Len() {
		v := r.At(i)
		if v == nil {
			continue
		}
		name := r.Type().Field(i).Name
		if err := set(m, name, v, depth); err != nil {
			return serde.Within("."+name, err)
		}
	}
	return nil
}

func set(m protoreflect.Message, name string, v any, depth int) error {
	fd := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if fd == nil {
		return fmt.Errorf("%s has no such field", m.Descriptor().FullName())
	}
	if one := fd.ContainingOneof(); one != nil {
		if other := m.WhichOneof(one); other != nil {
			return fmt.Errorf("%s is set too, and a message has one of them", other.Name())
		}
	}
	switch {
	case fd.IsMap():
		return setMap(m.Mutable(fd).Map(), fd, v, depth)
	case fd.IsList():
		return setList(m.Mutable(fd).List(), fd, v, depth)
	case fd.Message() != nil:
		return setMessage(m.Mutable(fd).Message(), v, depth+1)
	}
	value, err := scalarValue(fd, v)
	if err == nil {
		m.Set(fd, value)
	}
	return err
}

func setMap(to protoreflect.Map, fd protoreflect.FieldDescriptor, v any, depth int) error {
	values, ok := v.(map[string]any)
	if !ok {
		return misfit(v, "map")
	}
	for text, e := range values {
		key, err := mapKey(fd.MapKey(), text)
		if err != nil {
			return err
		}
		value := to.NewValue()
		if fd.MapValue().Message() != nil {
			err = setMessage(value.Message(), e, depth+1)
		} else {
			value, err = scalarValue(fd.MapValue(), e)
		}
		if err != nil {
			return serde.Within(fmt.Sprintf("[%q]", text), err)
		}
		to.Set(key, value)
	}
	return nil
}

func mapKey(fd protoreflect.FieldDescriptor, text string) (protoreflect.MapKey, error) {
	var v any = text
	var err error
	switch scalarKind(fd.Kind()) {
	case serde.KindBoolean:
		v, err = serde.KindBoolean.Type().ParseText(text)
	case serde.KindInt32, serde.KindInt64:
		v, err = serde.KindInt64.Type().ParseText(text)
	case serde.KindUint64:
		v, err = serde.KindUint64.Type().ParseText(text)
	}
	if err != nil {
		return protoreflect.MapKey{}, fmt.Errorf("key of a map: %w", err)
	}
	value, err := scalarValue(fd, v)
	if err != nil {
		return protoreflect.MapKey{}, err
	}
	return value.MapKey(), nil
}

func setList(to protoreflect.List, fd protoreflect.FieldDescriptor, v any, depth int) error {
	values, ok := v.([]any)
	if !ok {
		return misfit(v, "repeated field")
	}
	for i, e := range values {
		value, err := to.NewElement(), error(nil)
		if fd.Message() != nil {
			err = setMessage(value.Message(), e, depth+1)
		} else {
			value, err = scalarValue(fd, e)
		}
		if err != nil {
			return serde.Within(fmt.Sprintf("[%d]", i), err)
		}
		to.Append(value)
	}
	return nil
}

func setMessage(m protoreflect.Message, v any, depth int) error {
	md := m.Descriptor()
	switch v := v.(type) {
	case serde.Row:
		return fill(m, v, depth)
	case time.Time:
		if md.FullName() != timestampName {
			break
		}
		if s := v.Unix(); s < minTimestamp || s > maxTimestamp {
			return fmt.Errorf("year %d is out of range of a timestamp", v.Year())
		}
		m.Set(md.Fields().ByNumber(1), protoreflect.ValueOfInt64(v.Unix()))
		m.Set(md.Fields().ByNumber(2), protoreflect.ValueOfInt32(int32(v.Nanosecond())))
		return nil
	}
	if !isWrapper(md) {
		return misfit(v, string(md.FullName()))
	}
	inner := md.Fields().Get(0)
	value, err := scalarValue(inner, v)
	if err == nil {
		m.Set(inner, value)
	}
	return err
}

func misfit(v any, want string) error { return fmt.Errorf("a Go %T is no %s", v, want) }

// scalarValue makes a field's value of a row's.
func scalarValue(fd protoreflect.FieldDescriptor, v any) (protoreflect.Value, error) {
	switch fd.Kind() {
	case protoreflect.EnumKind:
		return enumValue(fd, v)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		i, err := integer(v, math.MinInt32, math.MaxInt32)
		return protoreflect.ValueOfInt32(int32(i)), err
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		i, err := integer(v, math.MinInt64, math.MaxInt64)
		return protoreflect.ValueOfInt64(i), err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		i, err := integer(v, 0, math.MaxUint32)
		return protoreflect.ValueOfUint32(uint32(i)), err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if u, ok := v.(uint64); ok {
			return protoreflect.ValueOfUint64(u), nil
		}
		i, err := integer(v, 0, math.MaxInt64)
		return protoreflect.ValueOfUint64(uint64(i)), err
	}
	switch v := v.(type) {
	case bool:
		if fd.Kind() == protoreflect.BoolKind {
			return protoreflect.ValueOfBool(v), nil
		}
	case float32:
		if fd.Kind() == protoreflect.DoubleKind {
			return protoreflect.ValueOfFloat64(float64(v)), nil
		}
		if fd.Kind() == protoreflect.FloatKind {
			return protoreflect.ValueOfFloat32(v), nil
		}
	case float64:
		if fd.Kind() == protoreflect.DoubleKind {
			return protoreflect.ValueOfFloat64(v), nil
		}
	case string:
		if fd.Kind() == protoreflect.StringKind {
			return protoreflect.ValueOfString(v), nil
		}
	case []byte:
		if fd.Kind() == protoreflect.BytesKind {
			return protoreflect.ValueOfBytes(v), nil
		}
	}
	return protoreflect.Value{}, misfit(v, fd.Kind().String())
}

func enumValue(fd protoreflect.FieldDescriptor, v any) (protoreflect.Value, error) {
	name, ok := v.(string)
	if !ok {
		return protoreflect.Value{}, misfit(v, "enum")
	}
	if ev := fd.Enum().Values().ByName(protoreflect.Name(name)); ev != nil {
		return protoreflect.ValueOfEnum(ev.Number()), nil
	}
	n, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return protoreflect.Value{}, fmt.Errorf("enum %s has no value %.40q", fd.Enum().FullName(), name)
	}
	return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), nil
}

func integer(v any, low, high int64) (int64, error) {
	var i int64
	switch v := v.(type) {
	case int32:
		i = int64(v)
	case int64:
		i = v
	case uint64:
		if v > math.MaxInt64 {
			return 0, fmt.Errorf("%d is out of range", v)
		}
		i = int64(v)
	default:
		return 0, misfit(v, "integer")
	}
	if i < low || i > high {
		return 0, fmt.Errorf("%d is out of range", i)
	}
	return i, nil
}
