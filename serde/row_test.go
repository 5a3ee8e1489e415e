package serde_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/serdetest"
)

// scalars is a row of every scalar kind, each nullable.
var scalars = serde.RowType("scalars",
	serde.Field{Name: "null", Type: serde.KindNull.Type()},
	serde.Field{Name: "boolean", Type: serde.KindBoolean.Type().OrNull()},
	serde.Field{Name: "int32", Type: serde.KindInt32.Type().OrNull()},
	serde.Field{Name: "int64", Type: serde.KindInt64.Type().OrNull()},
	serde.Field{Name: "uint64", Type: serde.KindUint64.Type().OrNull()},
	serde.Field{Name: "float32", Type: serde.KindFloat32.Type().OrNull()},
	serde.Field{Name: "float64", Type: serde.KindFloat64.Type().OrNull()},
	serde.Field{Name: "decimal", Type: serde.DecimalType(30, 2).OrNull()},
	serde.Field{Name: "string", Type: serde.KindString.Type().OrNull()},
	serde.Field{Name: "bytes", Type: serde.KindBytes.Type().OrNull()},
	serde.Field{Name: "date", Type: serde.KindDate.Type().OrNull()},
	serde.Field{Name: "time", Type: serde.KindTime.Type().OrNull()},
	serde.Field{Name: "timestamp", Type: serde.KindTimestamp.Type().OrNull()},
	serde.Field{Name: "local", Type: serde.KindLocalTimestamp.Type().OrNull()},
)

// nested is a tree whose nodes carry scalars, lists and maps.
var nested = serde.RecursiveRowType("node", func(self serde.Type) []serde.Field {
	return []serde.Field{
		{Name: "scalars", Type: scalars.OrNull()},
		{Name: "children", Type: serde.ArrayType(self)},
		{Name: "next", Type: self.OrNull()},
		{Name: "counts", Type: serde.MapType(serde.KindInt64.Type())},
		{Name: "empty", Type: serde.RowType("")},
		{Name: "nulls", Type: serde.ArrayType(serde.KindNull.Type())},
	}
})

func row(t testing.TB, typ serde.Type, values ...any) serde.Row {
	t.Helper()
	r, err := serde.NewRow(typ, values...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decimal(t testing.TB, s string) serde.Decimal {
	t.Helper()
	d, err := serde.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func scalarRows(t testing.TB) []serde.Row {
	at := time.Date(2013, 1, 1, 5, 15, 0, 123456789, time.UTC)
	return []serde.Row{
		row(t, scalars, make([]any, scalars.Len())...),
		row(t, scalars, nil, false, int32(0), int64(0), uint64(0), float32(0), 0.0, serde.Decimal{}, "", []byte{}, serde.Date(0), time.Duration(0), time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()),
		row(t, scalars, nil, true, int32(math.MinInt32), int64(math.MinInt64), uint64(math.MaxUint64), float32(math.MaxFloat32), math.Inf(-1),
			decimal(t, "-9999999999999999999999999999.99"), "é\x00☂", []byte{0, 255}, serde.DateOf(at), 24*time.Hour-1, at, at),
		row(t, scalars, nil, true, int32(math.MaxInt32), int64(math.MaxInt64), uint64(1), float32(0.1), 0.1,
			decimal(t, "0.5"), strings.Repeat("x", 300), []byte("b"), serde.Date(-800000), time.Nanosecond, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)),
	}
}

func nestedRows(t testing.TB) []serde.Row {
	empty := row(t, nested.Field(4).Type)
	leaf := row(t, nested, nil, []any{}, nil, map[string]any{}, empty, []any{})
	return []serde.Row{
		leaf,
		row(t, nested, scalarRows(t)[2], []any{leaf, leaf}, leaf, map[string]any{"": int64(0), "b": int64(-1), "a": int64(1)}, empty, []any{nil, nil}),
	}
}

func TestRowsKit(t *testing.T) {
	serdetest.Kit[serde.Row]{Serde: serde.Rows(scalars), Samples: scalarRows(t), Equal: serde.Row.Equal}.Run(t)
	serdetest.Kit[serde.Row]{Serde: serde.Rows(nested), Samples: nestedRows(t), Equal: serde.Row.Equal}.Run(t)
}

func FuzzRows(f *testing.F) { serdetest.Fuzz(f, serde.Rows(nested), nestedRows(f)...) }

// A row claims 2^31 elements and has none; a list of nulls has one byte each, too.
func TestRowsClaims(t *testing.T) {
	for _, typ := range []serde.Type{serde.ArrayType(serde.KindNull.Type()), serde.ArrayType(serde.RowType("")), serde.MapType(serde.KindInt64.Type()), serde.KindString.Type(), serde.DecimalType(5, 0)} {
		s := serde.Rows(serde.RowType("", serde.Field{Name: "claims", Type: typ}))
		if v, err := s.Decode([]byte{0x80, 0x80, 0x80, 0x80, 0x08}); err == nil {
			t.Errorf("%v decodes as %v", typ, v)
		}
	}
}

func TestRowsDepth(t *testing.T) {
	list := serde.RecursiveRowType("list", func(self serde.Type) []serde.Field {
		return []serde.Field{{Name: "next", Type: self.OrNull()}}
	})
	s := serde.Rows(list)
	deep := func(n int) []byte { return append([]byte(strings.Repeat("\x01", n)), 0) }
	if _, err := s.Decode(deep(100)); err != nil {
		t.Errorf("100 levels: %v", err)
	}
	if _, err := s.Decode(deep(1_000_000)); err == nil {
		t.Error("a million levels decode")
	}
	var v any
	for range 1000 {
		v = serde.MakeRow(list, []any{v})
	}
	if _, err := s.Append(nil, v.(serde.Row)); err == nil {
		t.Error("a thousand levels encode")
	}
	if err := list.Check(v); err == nil {
		t.Error("a thousand levels are checked")
	}
}

func TestRowRefusesValues(t *testing.T) {
	typ := serde.RowType("r",
		serde.Field{Name: "n", Type: serde.KindInt32.Type()},
		serde.Field{Name: "m", Type: serde.MapType(serde.ArrayType(serde.DecimalType(3, 1)))},
		serde.Field{Name: "t", Type: serde.KindTime.Type().OrNull()},
		serde.Field{Name: "l", Type: serde.KindLocalTimestamp.Type().OrNull()},
		serde.Field{Name: "s", Type: serde.KindString.Type().OrNull()},
	)
	none := map[string]any{}
	for want, values := range map[string][]any{
		"n: null for int32":               {nil, none, nil, nil, nil},
		"n: a Go int is no value":         {1, none, nil, nil, nil},
		"m: a Go []interface":             {int32(1), []any{}, nil, nil, nil},
		`m["k"][1]: serde: 100.0 does no`: {int32(1), map[string]any{"k": []any{decimal(t, "99.9"), decimal(t, "100.0")}}, nil, nil, nil},
		`m["k"][0]: serde: 0.25 has more`: {int32(1), map[string]any{"k": []any{decimal(t, "0.25")}}, nil, nil, nil},
		"t: serde: 24h0m0s since midnigh": {int32(1), none, 24 * time.Hour, nil, nil},
		"l: serde: a local timestamp has": {int32(1), none, nil, time.Now().In(time.FixedZone("x", 60)), nil},
		"s: serde: string is not UTF-8":   {int32(1), none, nil, nil, "\xff"},
		"a row of 1 values":               {int32(1)},
	} {
		if _, err := serde.NewRow(typ, values...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
		if b, err := serde.Rows(typ).Append(nil, serde.MakeRow(typ, values)); err == nil {
			t.Errorf("%q encodes as % x", want, b)
		}
	}
}

func TestTypeProblems(t *testing.T) {
	recursive := func(wrap func(serde.Type) serde.Type) serde.Type {
		return serde.RecursiveRowType("self", func(self serde.Type) []serde.Field { return []serde.Field{{Name: "me", Type: wrap(self)}} })
	}
	field := serde.Field{Name: "a", Type: serde.KindBytes.Type()}
	for want, typ := range map[string]serde.Type{
		"two fields of one name": serde.RowType("r", field, field),
		"always contains itself": recursive(func(self serde.Type) serde.Type { return self }),
		"me: decimal(5,6)":       recursive(func(serde.Type) serde.Type { return serde.DecimalType(5, 6) }),
		"me[]: array without":    recursive(func(serde.Type) serde.Type { return serde.MapType(serde.KindArray.Type()) }),
		"row without fields":     serde.ArrayType(serde.KindRow.Type()),
		"no type has kind 200":   serde.Kind(200).Type(),
	} {
		if err := typ.Problem(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: problem is %v, want %q", typ, err, want)
		}
	}
	for _, typ := range []serde.Type{nested, scalars, recursive(serde.Type.OrNull), recursive(serde.ArrayType), recursive(serde.MapType)} {
		if err := typ.Problem(); err != nil {
			t.Errorf("%v: %v", typ, err)
		}
	}
	if serde.Problem(serde.Rows(serde.KindInt32.Type())) == nil {
		t.Error("rows of integers have no problem")
	}
}

func TestTypeString(t *testing.T) {
	want := "row node<scalars row scalars<null null, boolean boolean?, int32 int32?, int64 int64?, uint64 uint64?, float32 float32?, float64 float64?, " +
		"decimal decimal(30,2)?, string string?, bytes bytes?, date date?, time time?, timestamp timestamp?, local local timestamp?>?, " +
		"children array<row node>, next row node?, counts map<int64>, empty row<>, nulls array<null>>"
	if got := nested.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRowsFormatFollowsType(t *testing.T) {
	a := serde.RowType("r", serde.Field{Name: "a", Type: serde.KindInt32.Type()})
	b := serde.RowType("r", serde.Field{Name: "a", Type: serde.KindInt32.Type().OrNull()})
	if serde.Rows(a).Format() == serde.Rows(b).Format() {
		t.Error("two types have one format")
	}
	if serde.Rows(a).Format() != serde.Rows(a.OrNull()).Format() {
		t.Error("one type has two formats")
	}
}

func TestRowIsIndependent(t *testing.T) {
	r := nestedRows(t)[1]
	c := r.Clone()
	if !c.Equal(r) {
		t.Fatalf("%v is cloned as %v", r, c)
	}
	c.At(3).(map[string]any)["a"] = int64(99)
	c.At(1).([]any)[0] = nil
	if r.At(3).(map[string]any)["a"] != int64(1) || r.At(1).([]any)[0] == nil {
		t.Error("the clone shares memory")
	}
	w, err := scalarRows(t)[0].With("int32", int32(7))
	if v, ok := w.Value[int32]("int32"); err != nil || !ok || v != 7 {
		t.Errorf("With gives %v, %v", w, err)
	}
	if _, err := w.With("int32", 7); err == nil {
		t.Error("With takes an int for an int32")
	}
	if _, err := w.With("nothing", 7); err == nil {
		t.Error("With takes a field that is not there")
	}
	if _, ok := w.Value[int64]("int32"); ok {
		t.Error("an int32 is an int64")
	}
}

func TestTextRoundTrip(t *testing.T) {
	for _, r := range scalarRows(t)[1:] {
		for i := range r.Len() {
			typ, v := scalars.Field(i).Type, r.At(i)
			if v == nil || typ.Kind() == serde.KindDate && v.(serde.Date).Time().Year() < 0 {
				continue
			}
			b, err := typ.AppendText([]byte("-"), v)
			if err != nil {
				t.Errorf("%v %v: %v", typ, v, err)
				continue
			}
			got, err := typ.ParseText(string(b[1:]))
			if err == nil {
				err = typ.Check(got)
			}
			again, _ := typ.AppendText([]byte("-"), got)
			if err != nil || typ.Kind() != serde.KindDecimal && !slices.Equal(b, again) {
				t.Errorf("%v %q reads as %v, %v", typ, b[1:], got, err)
			}
		}
	}
}

func TestTextRefuses(t *testing.T) {
	for kind, texts := range map[serde.Kind][]string{
		serde.KindBoolean:        {"", "1", "T", "TRUE", " true"},
		serde.KindInt32:          {"", "2147483648", "1.0", " 1", "0x1", "1_000"},
		serde.KindInt64:          {"9223372036854775808", "NaN"},
		serde.KindUint64:         {"-1", "18446744073709551616"},
		serde.KindFloat32:        {"1e39", "0x1p3", "1_0", "inf", ""},
		serde.KindFloat64:        {"1e309", "nan", "+Inf", "infinity", "1,5"},
		serde.KindString:         {"\xff"},
		serde.KindBytes:          {"a", "YQ", "YR==", "Y\nQ=="},
		serde.KindDate:           {"", "2013-02-30", "2013-1-1", "01/01/2013"},
		serde.KindTime:           {"24:00:00", "12:00", "-1:00:00"},
		serde.KindTimestamp:      {"2013-01-01T00:00:00", "2013-01-01", "2013-01-01T25:00:00Z"},
		serde.KindLocalTimestamp: {"2013-01-01T00:00:00Z", "2013-01-01 00:00:00"},
		serde.KindArray:          {"[]"},
	} {
		for _, s := range texts {
			if v, err := kind.Type().ParseText(s); err == nil {
				t.Errorf("%v: %q reads as %v", kind, s, v)
			}
		}
	}
}

func TestTextOfFarYears(t *testing.T) {
	far := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for kind, v := range map[serde.Kind]any{serde.KindTimestamp: far, serde.KindLocalTimestamp: far, serde.KindDate: serde.DateOf(far)} {
		if b, err := kind.Type().AppendText(nil, v); err == nil {
			t.Errorf("%v of year 10000 is %s, which does not read back", kind, b)
		}
	}
}

func TestDecimal(t *testing.T) {
	for s, want := range map[string]string{"0": "0", "-0.0": "0.0", "1.50": "1.50", "-.5": "-0.5", "5.": "5", "+7": "7", "1.25e3": "1250", "1e-3": "0.001", "12e1": "120", "1.5e0": "1.5"} {
		if d, err := serde.ParseDecimal(s); err != nil || d.String() != want {
			t.Errorf("%q is %v, %v, want %s", s, d, err, want)
		}
	}
	for _, s := range []string{"", ".", "-", "+-1", "--1", "1.2.3", "1e", "e5", "1e1000000000", "1e-1000000000", "0x10", "1_0", "NaN", "1e99999999999999999999", strings.Repeat("9", 1001), "1e1000"} {
		if d, err := serde.ParseDecimal(s); err == nil {
			t.Errorf("%.20q is %v", s, d)
		}
	}
	if decimal(t, "1.50").Cmp(decimal(t, "1.5")) != 0 || decimal(t, "-1").Cmp(decimal(t, "0.1")) >= 0 {
		t.Error("decimals compare by their digits")
	}
	if d, err := decimal(t, "1.50").Rescale(1); err != nil || d.String() != "1.5" {
		t.Errorf("1.50 with one digit is %v, %v", d, err)
	}
	if d, err := decimal(t, "1.25").Rescale(1); err == nil {
		t.Errorf("1.25 was cut to %v", d)
	}
	if got := decimal(t, "0.001").Precision(); got != 3 {
		t.Errorf("precision of 0.001 is %d", got)
	}
	n := big.NewInt(5)
	d := serde.NewDecimal(n, 1)
	n.SetInt64(6)
	d.Unscaled().SetInt64(7)
	if d.String() != "0.5" {
		t.Errorf("a decimal changed from outside to %v", d)
	}
}

func TestDate(t *testing.T) {
	for s, want := range map[string]serde.Date{"1970-01-01": 0, "1969-12-31": -1, "2013-01-01": 15706, "0001-01-01": -719162} {
		got, err := serde.KindDate.Type().ParseText(s)
		if err != nil || got != want || want.String() != s || serde.DateOf(want.Time().Add(23*time.Hour)) != want {
			t.Errorf("%s is day %v (%v), %v", s, got, want, err)
		}
	}
	if d := serde.DateOf(time.Date(1969, 12, 31, 23, 0, 0, 0, time.FixedZone("", -3600))); d != -1 {
		t.Errorf("late on the last day of 1969, west of Greenwich, is day %d", d)
	}
}

func ExampleRow() {
	flight := serde.RowType("flight",
		serde.Field{Name: "origin", Type: serde.KindString.Type()},
		serde.Field{Name: "delay", Type: serde.KindInt32.Type().OrNull()})
	r, _ := serde.NewRow(flight, "JFK", nil)
	late, _ := r.With("delay", int32(7))
	delay, ok := late.Value[int32]("delay")
	fmt.Println(r, late, delay, ok)

	_, err := serde.NewRow(flight, nil, nil)
	fmt.Println(err)
	// Output:
	// {origin: JFK, delay: null} {origin: JFK, delay: 7} 7 true
	// origin: null for string, which has none
}

func ExampleRows() {
	point := serde.RowType("point", serde.Field{Name: "x", Type: serde.KindInt64.Type()}, serde.Field{Name: "y", Type: serde.KindInt64.Type()})
	s := serde.Rows(point)
	r, _ := serde.NewRow(point, int64(1), int64(-1))
	b, _ := s.Append(nil, r)
	got, err := s.Decode(b)
	fmt.Printf("%x %v %v\n", b, got, err)
	// Output: 0201 {x: 1, y: -1} <nil>
}
