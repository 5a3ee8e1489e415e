package serde

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/big"
	"slices"
	"time"
	"unicode/utf8"
)

// Rows is a compact form of rows of one type, for state and topics inside a topology. It has no names and no schema in
// it: another type is another format. Topics that others read want JSON, Avro or Protobuf, which have rows in their own packages.
//
// A nullable value starts with byte 0 for null or 1. Integers are zig-zag varints (uint64 plain), floats their bits
// in big-endian order, a date its day and a time of day its nanoseconds. Strings, bytes and decimals (a sign byte, then the magnitude) follow their
// length. A timestamp is seconds and nanoseconds. Arrays and maps follow their count, maps with sorted keys.
func Rows(t Type) Serde[Row] {
	t = t.NotNull()
	h := fnv.New64a()
	h.Write([]byte(t.String()))
	return rows{t, fmt.Sprintf("row:%016x", h.Sum64())}
}

type rows struct {
	typ    Type
	format string
}

func (s rows) Format() string { return s.format }

func (s rows) Problem() error {
	if s.typ.kind != KindRow {
		return fmt.Errorf("serde.Rows: %v is no row", s.typ)
	}
	return s.typ.Problem()
}

func (s rows) Append(dst []byte, v Row) ([]byte, error) {
	if err := s.typ.checkNames(v); err != nil {
		return dst, err
	}
	return appendRow(dst, s.typ, v, 0)
}

func (s rows) Decode(b []byte) (Row, error) {
	d := rowDecoder{rest: b}
	v := d.row(s.typ, 0)
	if d.err == nil && len(d.rest) > 0 {
		d.err = fmt.Errorf("serde: %d bytes behind a row", len(d.rest))
	}
	if d.err != nil {
		return Row{}, d.err
	}
	return v, nil
}

func appendRow(dst []byte, t Type, v Row, depth int) ([]byte, error) {
	if t.Len() == 0 {
		return append(dst, 0), nil // every value has a byte, so counts are bounded by what is there
	}
	out := dst
	for i, e := range v.values {
		var err error
		f := &t.row.fields[i]
		if out, err = appendValue(out, f.Type, e, depth+1); err != nil {
			return dst, Within("."+f.Name, err)
		}
	}
	return out, nil
}

func appendValue(dst []byte, t Type, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, errTooDeep
	}
	if v == nil {
		if !t.Nullable() {
			return dst, t.Check(nil)
		}
		return append(dst, tagNull), nil
	}
	if t.kind < KindArray {
		if err := t.check(v, depth); err != nil { // kinds and Go types go together from here on
			return dst, err
		}
	}
	if t.nullable {
		dst = append(dst, tagSome)
	}
	switch v := v.(type) {
	case []any:
		return appendArray(dst, t, v, depth)
	case map[string]any:
		return appendMap(dst, t, v, depth)
	case Row:
		if err := t.checkNames(v); err != nil {
			return dst, err
		}
		return appendRow(dst, t, v, depth)
	}
	return appendScalarValue(dst, t, v), nil
}

// checkNames is the part of check that is not done again for every value inside.
func (t Type) checkNames(r Row) error {
	if t.kind != KindRow || len(r.values) != t.Len() || !equalNames(t, r.typ) {
		return t.misfit(r)
	}
	return nil
}

func appendScalarValue(dst []byte, t Type, v any) []byte {
	switch v := v.(type) {
	case bool:
		dst, _ = Bool.Append(dst, v)
	case int32:
		dst = binary.AppendVarint(dst, int64(v))
	case int64:
		dst = binary.AppendVarint(dst, v)
	case uint64:
		dst = binary.AppendUvarint(dst, v)
	case float32:
		dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(v))
	case float64:
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
	case Date:
		dst = binary.AppendVarint(dst, int64(v))
	case time.Duration:
		dst = binary.AppendVarint(dst, int64(v))
	case time.Time:
		dst = binary.AppendUvarint(binary.AppendVarint(dst, v.Unix()), uint64(v.Nanosecond()))
	case string:
		dst = append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	case []byte:
		dst = append(binary.AppendUvarint(dst, uint64(len(v))), v...)
	case Decimal:
		fitted, _ := v.Fit(t) // checked before
		dst = appendDecimal(dst, fitted)
	}
	return dst
}

func appendDecimal(dst []byte, d Decimal) []byte {
	magnitude := d.digits().Bytes()
	sign := byte(0)
	if d.Sign() < 0 {
		sign = 1
	}
	return append(append(binary.AppendUvarint(dst, uint64(len(magnitude)+1)), sign), magnitude...)
}

func appendArray(dst []byte, t Type, v []any, depth int) ([]byte, error) {
	if t.kind != KindArray {
		return dst, t.misfit(v)
	}
	out := binary.AppendUvarint(dst, uint64(len(v)))
	for i, e := range v {
		var err error
		if out, err = appendValue(out, *t.elem, e, depth+1); err != nil {
			return dst, Within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return out, nil
}

func appendMap(dst []byte, t Type, v map[string]any, depth int) ([]byte, error) {
	if t.kind != KindMap {
		return dst, t.misfit(v)
	}
	out := binary.AppendUvarint(dst, uint64(len(v)))
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if !utf8.ValidString(k) {
			return dst, errNotUTF8
		}
		var err error
		out = append(binary.AppendUvarint(out, uint64(len(k))), k...)
		if out, err = appendValue(out, *t.elem, v[k], depth+1); err != nil {
			return dst, Within(fmt.Sprintf("[%q]", k), err)
		}
	}
	return out, nil
}

// A rowDecoder reads values off the front of rest. After its first error it reads zeros.
type rowDecoder struct {
	rest []byte
	err  error
}

var errRowShort = errors.New("serde: row ends too early, or a length in it is wrong")

func (d *rowDecoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.rest = nil
}

func (d *rowDecoder) row(t Type, depth int) Row {
	if t.Len() == 0 {
		d.byte(0)
		return Row{t, []any{}}
	}
	values := make([]any, t.Len())
	for i := range values {
		f := &t.row.fields[i]
		if values[i] = d.value(f.Type, depth+1); d.err != nil {
			d.err = Within("."+f.Name, d.err)
			return Row{}
		}
	}
	return Row{t, values}
}

func (d *rowDecoder) value(t Type, depth int) any {
	if depth > maxDepth {
		d.fail(errTooDeep)
		return nil
	}
	if t.kind == KindNull {
		d.byte(tagNull)
		return nil
	}
	if t.nullable && d.byte(tagSome) == tagNull {
		return nil
	}
	switch t.kind {
	case KindArray:
		return d.array(t, depth)
	case KindMap:
		return d.mapping(t, depth)
	case KindRow:
		return d.row(t, depth)
	case KindBoolean:
		return d.byte(1) == 1
	case KindInt32:
		return int32(d.varint(math.MinInt32, math.MaxInt32))
	case KindInt64:
		return d.varint(math.MinInt64, math.MaxInt64)
	case KindUint64:
		return d.uvarint(math.MaxUint64)
	case KindFloat32:
		return math.Float32frombits(uint32(bigEndian(d.take(4))))
	case KindFloat64:
		return math.Float64frombits(bigEndian(d.take(8)))
	case KindDate:
		return Date(d.varint(math.MinInt32, math.MaxInt32))
	case KindTime:
		return time.Duration(d.varint(0, int64(24*time.Hour)-1))
	case KindTimestamp, KindLocalTimestamp:
		return time.Unix(d.varint(minSecond, maxSecond), int64(d.uvarint(1e9-1))).UTC()
	case KindString:
		return d.text()
	case KindBytes:
		return append([]byte{}, d.sized()...)
	default:
		return d.decimal(t)
	}
}

// The seconds that a time.Time can hold without its own arithmetic running over.
const (
	minSecond = math.MinInt64 / 2
	maxSecond = math.MaxInt64 / 2
)

// take returns the next n bytes, nil when there are less.
func (d *rowDecoder) take(n int) []byte {
	if n > len(d.rest) {
		d.fail(errRowShort)
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// byte returns the next byte, which is at most limit.
func (d *rowDecoder) byte(limit byte) byte {
	b := d.take(1)
	if b == nil {
		return 0
	}
	if b[0] > limit {
		d.fail(fmt.Errorf("serde: byte 0x%02x where %d is the largest", b[0], limit))
		return 0
	}
	return b[0]
}

func (d *rowDecoder) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > limit {
		d.fail(errRowShort)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *rowDecoder) varint(low, high int64) int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 || v < low || v > high {
		d.fail(errRowShort)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// sized returns the bytes behind a length. Lengths and counts are at most what is left, as each thing counted has a byte.
func (d *rowDecoder) sized() []byte { return d.take(int(d.uvarint(uint64(len(d.rest))))) }

func (d *rowDecoder) text() string {
	b := d.sized()
	if !utf8.Valid(b) {
		d.fail(errNotUTF8)
		return ""
	}
	return string(b)
}

func (d *rowDecoder) decimal(t Type) any {
	b := d.sized()
	if len(b) == 0 || b[0] > 1 || len(b) > maxDecimalBytes {
		d.fail(errRowShort)
		return nil
	}
	unscaled := new(big.Int).SetBytes(b[1:])
	if b[0] == 1 {
		unscaled.Neg(unscaled)
	}
	v := Decimal{unscaled, t.scale}
	if _, err := v.Fit(t); err != nil {
		d.fail(err)
		return nil
	}
	return v
}

// maxDecimalBytes holds a sign and MaxPrecision digits, at less than 3.33 bits each.
const maxDecimalBytes = 1 + MaxPrecision*10/24

func (d *rowDecoder) array(t Type, depth int) any {
	n := int(d.uvarint(uint64(len(d.rest))))
	values := make([]any, 0, min(n, 1024)) // grows as elements arrive: a count is a claim
	for i := 0; i < n && d.err == nil; i++ {
		values = append(values, d.value(*t.elem, depth+1))
	}
	return values
}

func (d *rowDecoder) mapping(t Type, depth int) any {
	n := int(d.uvarint(uint64(len(d.rest))))
	values := make(map[string]any, min(n, 1024))
	last := ""
	for i := 0; i < n && d.err == nil; i++ {
		k := d.text()
		if i > 0 && k <= last {
			d.fail(fmt.Errorf("serde: keys of a map are not in order: %.40q behind %.40q", k, last))
		}
		values[k], last = d.value(*t.elem, depth+1), k
	}
	return values
}

func bigEndian(b []byte) (v uint64) {
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}
