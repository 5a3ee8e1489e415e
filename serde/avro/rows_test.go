package avro_test

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/avro/avrotest"
	"github.com/weirstream/weir/serde/avro/hamba"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// everything is a row type with all kinds in it, and a row of it.
func everything(t *testing.T) (serde.Type, serde.Row) {
	inner := serde.RowType("inner", serde.Field{Name: "x", Type: serde.KindInt32.Type()}, serde.Field{Name: "d", Type: serde.KindDate.Type().OrNull()})
	kinds := serde.RowType("all",
		serde.Field{Name: "b", Type: serde.KindBoolean.Type()}, serde.Field{Name: "i", Type: serde.KindInt32.Type()}, serde.Field{Name: "l", Type: serde.KindInt64.Type()},
		serde.Field{Name: "u", Type: serde.KindUint64.Type()}, serde.Field{Name: "f", Type: serde.KindFloat32.Type()}, serde.Field{Name: "g", Type: serde.KindFloat64.Type()},
		serde.Field{Name: "m", Type: serde.DecimalType(12, 2)}, serde.Field{Name: "s", Type: serde.KindString.Type()}, serde.Field{Name: "y", Type: serde.KindBytes.Type()},
		serde.Field{Name: "d", Type: serde.KindDate.Type()}, serde.Field{Name: "t", Type: serde.KindTime.Type()}, serde.Field{Name: "at", Type: serde.KindTimestamp.Type()},
		serde.Field{Name: "loc", Type: serde.KindLocalTimestamp.Type()}, serde.Field{Name: "arr", Type: serde.ArrayType(inner.OrNull())},
		serde.Field{Name: "map", Type: serde.MapType(serde.DecimalType(5, 1))}, serde.Field{Name: "row", Type: inner}, serde.Field{Name: "opt", Type: serde.KindString.Type().OrNull()},
		serde.Field{Name: "none", Type: inner.OrNull()}, serde.Field{Name: "null", Type: serde.KindNull.Type()})
	day := serde.DateOf(time.Date(1966, 3, 1, 0, 0, 0, 0, time.UTC))
	in, err := serde.NewRow(inner, int32(1), day)
	must(t, in, err)
	noDay, err := serde.NewRow(inner, int32(2), nil)
	must(t, noDay, err)
	row, err := serde.NewRow(kinds, true, int32(-1), int64(math.MinInt64), uint64(math.MaxUint64), float32(1.5), math.NaN(), serde.NewDecimal(big.NewInt(-1299), 2), "ä", []byte{0, 255},
		day, 25*time.Microsecond, time.UnixMicro(-5).UTC(), time.UnixMicro(7).UTC(), []any{in, nil, noDay}, map[string]any{"k": serde.NewDecimal(big.NewInt(5), 1)}, in, "o", nil, nil)
	must(t, row, err)
	return kinds, row
}

func TestRowsOfAllKinds(t *testing.T) {
	typ, row := everything(t)
	reg := registrytest.New()
	at := serde.Binding{Registry: reg}
	for name, s := range map[string]serde.Serde[serde.Row]{
		"single object":      avro.Rows(typ),
		"hamba":              avro.Rows(typ, avro.Using(hamba.New())),
		"registered":         bind(t, avro.RegisteredRows(typ), at),
		"as written":         bind(t, avro.Registered[serde.Row](), at),
		"as written, inside": bind(t, avro.Registered[serde.Row](), serde.Binding{Internal: true}),
		"inside":             bind(t, avro.RegisteredRows(typ), serde.Binding{Internal: true}),
	} {
		want := row
		if strings.HasPrefix(name, "as written") {
			// Avro has no uint64: read without its type, it is the decimal that holds it.
			values := make([]any, row.Len())
			for i := range values {
				if values[i] = row.At(i); i == 3 {
					values[i] = serde.NewDecimal(new(big.Int).SetUint64(math.MaxUint64), 0)
				}
			}
			want = serde.MakeRow(typ, values)
		}
		if got := roundTrip(t, s, row); !got.Equal(want) {
			t.Errorf("%s:\ngot  %v\nwant %v", name, got, want)
		}
	}
	if reg.IDs() != 1 {
		t.Errorf("%d schemas of one row type", reg.IDs())
	}
}

func TestRowTypesOfSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		avrotest.Values()[18].Schema: "row Plain<yes boolean, small int32, large int64, single float32, double float64, text string, raw bytes>",
		`{"type":"record","name":"a.T","fields":[{"name":"kids","type":{"type":"array","items":"T"}},{"name":"up","type":["T","null"]}]}`: "row a.T<kids array<row a.T>, up row a.T?>",
		`{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}},{"name":"f","type":{"type":"fixed","name":"F","size":2}},
			{"name":"u","type":{"type":"string","logicalType":"uuid"}},{"name":"n","type":["null",{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}]},{"name":"one","type":["int"]}]}`: "row R<e string, f bytes, u string, n decimal(4,1)?, one int32>",
		`{"type":"record","name":"R","fields":[{"name":"d","type":{"type":"fixed","name":"D","size":12,"logicalType":"duration"}}]}`: "row R<d row duration<months int64, days int64, milliseconds int64>>",
	} {
		typ, err := avro.Parse(schema)
		must(t, typ, err)
		rt, err := avro.RowType(typ)
		if must(t, rt, err).String() != want {
			t.Errorf("%s\ngot  %v\nwant %s", schema, rt, want)
		}
	}
	typ, err := avro.Parse(`{"type":"record","name":"R","fields":[{"name":"both","type":["int","string"]}]}`)
	must(t, typ, err)
	if _, err := avro.RowType(typ); err == nil || !strings.Contains(err.Error(), "both") {
		t.Errorf("a union of several types: %v", err)
	}
}

// A tree as a row, back and forth between the two kinds of types.
func TestRowTypesGoBothWays(t *testing.T) {
	typ, _ := everything(t)
	tree := serde.RecursiveRowType("tree", func(self serde.Type) []serde.Field {
		return []serde.Field{{Name: "kids", Type: serde.ArrayType(self)}, {Name: "up", Type: self.OrNull()}}
	})
	for _, rt := range []serde.Type{typ, tree} {
		schema, err := avro.SchemaOfRow(rt)
		must(t, schema, err)
		back, err := avro.RowType(schema)
		// Avro has no uint64: it comes back as the decimal that holds it.
		want := strings.Replace(rt.String(), "uint64", "decimal(20,0)", 1)
		if must(t, back, err).String() != want {
			t.Errorf("got  %v\nwant %s", back, want)
		}
	}
	for _, bad := range []serde.Type{serde.RowType("r", serde.Field{Name: "no name", Type: serde.KindInt32.Type()}), serde.KindInt32.Type()} {
		if err := serde.Problem(avro.Rows(bad)); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// Nothing is cut without a word.
func TestRowsOfTimesTooFine(t *testing.T) {
	typ, row := everything(t)
	for name, v := range map[string]any{"t": 1 * time.Nanosecond, "at": time.Unix(0, 1), "loc": time.Unix(0, 999).UTC()} {
		bad, err := row.With(name, v)
		must(t, bad, err)
		if _, err := avro.Rows(typ).Append(nil, bad); err == nil || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), "Truncate(1µs)") {
			t.Errorf("%s of %v: %v", name, v, err)
		}
	}
}

func TestRowsOfLogicalTypes(t *testing.T) {
	schema := `{"type":"record","name":"R","fields":[{"name":"span","type":{"type":"fixed","name":"D","size":12,"logicalType":"duration"}},
		{"name":"id","type":{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}},{"name":"fx","type":{"type":"fixed","name":"F","size":2}}]}`
	s := avro.Of[serde.Row](avro.Schema(schema))
	typ, err := avro.Parse(schema)
	must(t, typ, err)
	rt, err := avro.RowType(typ)
	must(t, rt, err)
	span, err := serde.NewRow(rt.Field(0).Type, int64(1), int64(2), int64(1<<32-1))
	must(t, span, err)
	row, err := serde.NewRow(rt, span, "6ba7b810-9dad-11d1-80b4-00c04fd430c8", []byte{1, 2})
	must(t, row, err)
	if got := roundTrip(t, s, row); !got.Equal(row) {
		t.Errorf("got %v, want %v", got, row)
	}
	for name, v := range map[string]any{"id": "6ba7b810", "fx": []byte{1}} {
		bad, err := row.With(name, v)
		must(t, bad, err)
		if _, err := s.Append(nil, bad); err == nil {
			t.Errorf("%s of %v was written", name, v)
		}
	}
	tooLong, err := span.With("days", int64(1<<32))
	must(t, tooLong, err)
	bad, err := row.With("span", tooLong)
	must(t, bad, err)
	if _, err := s.Append(nil, bad); err == nil || !strings.Contains(err.Error(), "span.days") {
		t.Errorf("days of 33 bits: %v", err)
	}
	if _, err := s.Append(nil, serde.Row{}); err == nil {
		t.Error("the zero row was written")
	}
}
