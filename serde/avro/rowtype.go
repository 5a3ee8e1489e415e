package avro

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weirstream/weir/serde"
)

// RowType returns the type of rows that hold what t describes:
//
//	boolean, int, long, float, double, string, bytes   boolean, int32, int64, float32, float64, string, bytes
//	enum                                               string
//	fixed                                              bytes
//	uuid                                               string, as 6ba7b810-9dad-11d1-80b4-00c04fd430c8
//	decimal                                            decimal
//	date, time-millis and -micros                      date, time
//	timestamp-*, local-timestamp-*                     timestamp, local timestamp
//	duration                                           row of months, days and milliseconds, int64 each
//	array, map, record                                 array, map, row
//	union of null and one other type                   that type, nullable
//
// A union of several types has no row type: the value would not say which of them it is.
func RowType(t *Type) (serde.Type, error) {
	rt, err := rowTypes{}.of(t)
	if err != nil {
		return serde.Type{}, fmt.Errorf("avro: %w", err)
	}
	if err := rt.Problem(); err != nil {
		return serde.Type{}, fmt.Errorf("avro: %w", err)
	}
	return rt, nil
}

// rowTypes holds the row types of records under way and done, for records that contain themselves.
type rowTypes map[*Type]serde.Type

var durationRow = serde.RowType("duration", serde.Field{Name: "months", Type: serde.KindInt64.Type()},
	serde.Field{Name: "days", Type: serde.KindInt64.Type()}, serde.Field{Name: "milliseconds", Type: serde.KindInt64.Type()})

// plainKinds are the kinds without a logical type.
var plainKinds = map[Kind]serde.Kind{
	KindNull: serde.KindNull, KindBoolean: serde.KindBoolean, KindInt: serde.KindInt32, KindLong: serde.KindInt64, KindFloat: serde.KindFloat32,
	KindDouble: serde.KindFloat64, KindString: serde.KindString, KindBytes: serde.KindBytes, KindEnum: serde.KindString, KindFixed: serde.KindBytes,
}

func (r rowTypes) of(t *Type) (serde.Type, error) {
	switch {
	case t.Logical == "decimal":
		return serde.DecimalType(t.Precision, t.Scale), nil
	case t.Logical == "duration":
		return durationRow, nil
	case t.Logical == "uuid":
		return serde.KindString.Type(), nil
	case t.Logical == "date":
		return serde.KindDate.Type(), nil
	case strings.HasPrefix(t.Logical, "time-"):
		return serde.KindTime.Type(), nil
	case strings.HasPrefix(t.Logical, "timestamp-"):
		return serde.KindTimestamp.Type(), nil
	case strings.HasPrefix(t.Logical, "local-timestamp-"):
		return serde.KindLocalTimestamp.Type(), nil
	}
	switch t.Kind {
	case KindArray, KindMap:
		elem, err := r.of(t.Elem)
		if t.Kind == KindMap {
			return serde.MapType(elem), err
		}
		return serde.ArrayType(elem), err
	case KindUnion:
		return r.ofUnion(t)
	case KindRecord:
		return r.ofRecord(t)
	}
	return plainKinds[t.Kind].Type(), nil
}

func (r rowTypes) ofUnion(t *Type) (serde.Type, error) {
	inner := nonNull(t)
	if len(t.Branches) == 1 {
		inner = t.Branches[0]
	}
	if inner == t {
		return serde.Type{}, errors.New("a union of several types has no row type; use avro.Record")
	}
	rt, err := r.of(inner)
	if len(t.Branches) == 2 {
		rt = rt.OrNull()
	}
	return rt, err
}

func (r rowTypes) ofRecord(t *Type) (serde.Type, error) {
	if rt, ok := r[t]; ok {
		return rt, nil
	}
	var failed error
	rt := serde.RecursiveRowType(t.Name, func(self serde.Type) []serde.Field {
		r[t] = self
		fields := make([]serde.Field, len(t.Fields))
		for i := range t.Fields {
			ft, err := r.of(t.Fields[i].Type)
			if err != nil && failed == nil {
				failed = fmt.Errorf("field %s of %s: %w", t.Fields[i].Name, t.Name, err)
			}
			fields[i] = serde.Field{Name: t.Fields[i].Name, Type: ft}
		}
		return fields
	})
	return rt, failed
}

// SchemaOfRow returns the schema of a row type, by the rules of [RowType] the other way round. What Avro lacks becomes
// something larger: uint64 is a decimal of 20 digits. Times and timestamps are in microseconds, and what is finer is an error of the
// row. Nullable fields default to null. Names of rows and fields must be names in Avro; a row without one is called Row.
func SchemaOfRow(rt serde.Type) (*Type, error) {
	if err := rt.Problem(); err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	s := rowSchemas{names: map[serde.Type]string{}, taken: map[string]bool{}}
	text, err := json.Marshal(s.of(rt, "Row"))
	if err != nil {
		return nil, fmt.Errorf("avro: %w", err)
	}
	return Parse(string(text))
}

// rowSchemas builds the JSON of a schema.
type rowSchemas struct {
	names map[serde.Type]string // of rows that have been written out
	taken map[string]bool
}

type object = map[string]any

func (s rowSchemas) of(rt serde.Type, name string) any {
	if rt.Nullable() && rt.Kind() != serde.KindNull {
		return []any{"null", s.of(rt.NotNull(), name)}
	}
	logical := func(kind Kind, name string) object { return object{"type": kind, "logicalType": name} }
	switch rt.Kind() {
	case serde.KindUint64:
		return object{"type": KindBytes, "logicalType": "decimal", "precision": 20, "scale": 0}
	case serde.KindDecimal:
		return object{"type": KindBytes, "logicalType": "decimal", "precision": rt.Precision(), "scale": rt.Scale()}
	case serde.KindDate:
		return logical(KindInt, "date")
	case serde.KindTime:
		return logical(KindLong, "time-micros")
	case serde.KindTimestamp:
		return logical(KindLong, "timestamp-micros")
	case serde.KindLocalTimestamp:
		return logical(KindLong, "local-timestamp-micros")
	case serde.KindArray:
		return object{"type": KindArray, "items": s.of(rt.Elem(), name)}
	case serde.KindMap:
		return object{"type": KindMap, "values": s.of(rt.Elem(), name)}
	case serde.KindRow:
		return s.record(rt, name)
	}
	for kind, k := range plainKinds {
		if k == rt.Kind() && kind != KindEnum && kind != KindFixed {
			return kind
		}
	}
	return KindNull
}

// record writes a row out where it comes first and names it afterwards.
func (s rowSchemas) record(rt serde.Type, fallback string) any {
	if name, ok := s.names[rt]; ok {
		return name
	}
	name := rt.Name()
	if name == "" {
		name = fallback
	}
	for s.taken[name] {
		name += "_"
	}
	s.names[rt], s.taken[name] = name, true
	fields := make([]any, rt.Len())
	for i := range fields {
		f := rt.Field(i)
		field := object{"name": f.Name, "type": s.of(f.Type, name+"_"+f.Name)}
		if f.Type.Nullable() {
			field["default"] = nil
		}
		fields[i] = field
	}
	return object{"type": KindRecord, "name": name, "fields": fields}
}
