package avro

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/weirstream/weir/serde"
)

// toRow turns a dynamic value of t into one of rt, which is its row type.
func toRow(t *Type, rt serde.Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	t = nonNull(t)
	if t.Kind == KindUnion {
		t = t.Branches[0]
	}
	switch rt.Kind() {
	case serde.KindUint64, serde.KindDecimal:
		return toDecimal(rt, v)
	case serde.KindDate:
		if day, ok := v.(time.Time); ok {
			return serde.DateOf(day.UTC()), nil
		}
	case serde.KindString:
		if id, ok := v.([16]byte); ok {
			return uuidText(id), nil
		}
	case serde.KindBytes:
		return v, nil
	case serde.KindArray, serde.KindMap:
		return toList(t, rt, v)
	case serde.KindRow:
		return toRows(t, rt, v)
	}
	return v, nil
}

func toDecimal(rt serde.Type, v any) (any, error) {
	r, ok := v.(*big.Rat)
	if !ok {
		return nil, fmt.Errorf("a Go %T is no decimal", v)
	}
	if rt.Kind() == serde.KindUint64 {
		if !r.IsInt() || !r.Num().IsUint64() {
			return nil, fmt.Errorf("%v is no uint64", r)
		}
		return r.Num().Uint64(), nil
	}
	scaled := new(big.Int).Mul(r.Num(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(rt.Scale())), nil))
	return serde.NewDecimal(scaled.Quo(scaled, r.Denom()), rt.Scale()), nil
}

func toList(t *Type, rt serde.Type, v any) (any, error) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			e, err := toRow(t.Elem, rt.Elem(), v[i])
			if err != nil {
				return nil, serde.Within(fmt.Sprintf("[%d]", i), err)
			}
			v[i] = e
		}
	case map[string]any:
		for k := range v {
			e, err := toRow(t.Elem, rt.Elem(), v[k])
			if err != nil {
				return nil, serde.Within(fmt.Sprintf("[%q]", k), err)
			}
			v[k] = e
		}
	}
	return v, nil
}

func toRows(t *Type, rt serde.Type, v any) (any, error) {
	if d, ok := v.(Duration); ok {
		return serde.MakeRow(rt, []any{int64(d.Months), int64(d.Days), int64(d.Milliseconds)}), nil
	}
	fields, ok := v.(map[string]any)
	if !ok || len(t.Fields) != rt.Len() {
		return nil, fmt.Errorf("a Go %T is no record", v)
	}
	values := make([]any, len(t.Fields))
	for i := range t.Fields {
		f := &t.Fields[i]
		var err error
		if values[i], err = toRow(f.Type, rt.Field(i).Type, fields[f.Name]); err != nil {
			return nil, serde.Within("."+f.Name, err)
		}
	}
	return serde.MakeRow(rt, values), nil
}

// fromRow turns a value of a row, which was checked against its type, into a dynamic value of t.
func fromRow(t *Type, v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	t = nonNull(t)
	if t.Kind == KindUnion {
		t = t.Branches[0]
	}
	switch v := v.(type) {
	case uint64:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(v)), nil
	case serde.Decimal:
		return new(big.Rat).SetFrac(v.Unscaled(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.Scale())), nil)), nil
	case serde.Date:
		return v.Time(), nil
	case time.Time:
		return v, tooFine(t, time.Duration(v.Nanosecond()))
	case time.Duration:
		return v, tooFine(t, v)
	case string:
		if t.Kind == KindFixed && t.Logical == "uuid" {
			return uuidBytes(v)
		}
	case []any:
		return fromList(t, v)
	case map[string]any:
		return fromMap(t, v)
	case serde.Row:
		return fromRows(t, v)
	}
	return v, nil
}

// tooFine refuses a time that its logical type would cut.
func tooFine(t *Type, v time.Duration) error {
	unit := time.Nanosecond
	switch {
	case strings.HasSuffix(t.Logical, "-millis"):
		unit = time.Millisecond
	case strings.HasSuffix(t.Logical, "-micros"):
		unit = time.Microsecond
	}
	if v%unit != 0 {
		return fmt.Errorf("it has parts finer than %v has; cut it by Truncate(%v)", t.Logical, unit)
	}
	return nil
}

func fromList(t *Type, v []any) (any, error) {
	out := make([]any, len(v))
	for i := range v {
		var err error
		if out[i], err = fromRow(t.Elem, v[i]); err != nil {
			return nil, serde.Within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return out, nil
}

func fromMap(t *Type, v map[string]any) (any, error) {
	out := make(map[string]any, len(v))
	for k := range v {
		var err error
		if out[k], err = fromRow(t.Elem, v[k]); err != nil {
			return nil, serde.Within(fmt.Sprintf("[%q]", k), err)
		}
	}
	return out, nil
}

func fromRows(t *Type, v serde.Row) (any, error) {
	if t.Logical == "duration" {
		return durationOf(v)
	}
	out := make(map[string]any, len(t.Fields))
	for i := range t.Fields {
		f := &t.Fields[i]
		in, ok := v.Get(f.Name)
		if !ok {
			continue // its default, if it has one
		}
		var err error
		if out[f.Name], err = fromRow(f.Type, in); err != nil {
			return nil, serde.Within("."+f.Name, err)
		}
	}
	return out, nil
}

func durationOf(v serde.Row) (any, error) {
	var parts [3]uint32
	for i, name := range []string{"months", "days", "milliseconds"} {
		n, ok := v.Value[int64](name)
		if !ok || n < 0 || n > 1<<32-1 {
			return nil, serde.Within("."+name, fmt.Errorf("no number of 32 bits without a sign"))
		}
		parts[i] = uint32(n)
	}
	return Duration{parts[0], parts[1], parts[2]}, nil
}

func uuidText(id [16]byte) string {
	s := hex.EncodeToString(id[:])
	return strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-")
}

func uuidBytes(s string) (any, error) {
	var id [16]byte
	digits := strings.ReplaceAll(s, "-", "")
	if n, err := hex.Decode(id[:], []byte(digits[:min(len(digits), 32)])); err != nil || n != 16 || len(s) != 36 || len(digits) != 32 {
		return nil, fmt.Errorf("%.40q is no UUID", s)
	}
	return id, nil
}
