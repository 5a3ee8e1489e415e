package jsontext_test

import (
	text "encoding/json/jsontext"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/jsontext"
	"github.com/weirstream/weir/serde/serdetest"
)

func samples() []any {
	return []any{
		nil, true, int64(math.MinInt64), int64(0), uint64(math.MaxUint64), jsontext.Number("18446744073709551616"), jsontext.Number("-9223372036854775809"),
		1.0, -0.5, 1e300, math.SmallestNonzeroFloat64, math.Copysign(0, -1), "", "é\u2028\x00\"", []any{}, map[string]any{},
		[]any{nil, []any{int64(1)}, map[string]any{"b": 1.5, "a": []any{}, "": "x"}},
	}
}

func TestValues(t *testing.T) { serdetest.Run(t, jsontext.Values(), samples()...) }

func TestRaw(t *testing.T) {
	serdetest.Run(t, jsontext.Raw(), text.Value(`null`), text.Value(` { "b": 1.50, "a": [ ] } `))
}

var everything = serde.RecursiveRowType("everything", func(self serde.Type) []serde.Field {
	return []serde.Field{
		{Name: "boolean", Type: serde.KindBoolean.Type()},
		{Name: "int32", Type: serde.KindInt32.Type()},
		{Name: "int64", Type: serde.KindInt64.Type()},
		{Name: "uint64", Type: serde.KindUint64.Type()},
		{Name: "float32", Type: serde.KindFloat32.Type()},
		{Name: "float64", Type: serde.KindFloat64.Type()},
		{Name: "decimal", Type: serde.DecimalType(20, 2)},
		{Name: "string", Type: serde.KindString.Type().OrNull()},
		{Name: "bytes", Type: serde.KindBytes.Type()},
		{Name: "date", Type: serde.KindDate.Type()},
		{Name: "time", Type: serde.KindTime.Type()},
		{Name: "timestamp", Type: serde.KindTimestamp.Type()},
		{Name: "local", Type: serde.KindLocalTimestamp.Type()},
		{Name: "array", Type: serde.ArrayType(serde.KindInt32.Type().OrNull())},
		{Name: "map", Type: serde.MapType(serde.KindString.Type())},
		{Name: "self", Type: self.OrNull()},
		{Name: "null", Type: serde.KindNull.Type()},
	}
})

func rows(t testing.TB) []serde.Row {
	at := time.Date(2013, 1, 1, 5, 15, 0, 5e8, time.UTC)
	d, _ := serde.ParseDecimal("-123456789012345678.90")
	small, err := serde.NewRow(everything, false, int32(0), int64(0), uint64(0), float32(0), 0.0, serde.Decimal{}, nil, []byte{}, serde.Date(0), time.Duration(0),
		time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC(), []any{}, map[string]any{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	large, err := serde.NewRow(everything, true, int32(math.MinInt32), int64(math.MaxInt64), uint64(math.MaxUint64), float32(math.Inf(1)), math.NaN(), d, "a\"\u2028", []byte{0, 255}, serde.DateOf(at),
		24*time.Hour-1, at, at, []any{int32(1), nil}, map[string]any{"b": "", "a": "x"}, small, nil)
	if err != nil {
		t.Fatal(err)
	}
	return []serde.Row{small, large}
}

func TestRows(t *testing.T) {
	serdetest.Kit[serde.Row]{Serde: jsontext.Rows(everything), Samples: rows(t), Equal: serde.Row.Equal}.Run(t)
}

func FuzzValues(f *testing.F) { serdetest.Fuzz(f, jsontext.Values(), samples()...) }
func FuzzRows(f *testing.F)   { serdetest.Fuzz(f, jsontext.Rows(everything), rows(f)...) }

func TestRowsReadLeniently(t *testing.T) {
	typ := serde.RowType("", serde.Field{Name: "a", Type: serde.DecimalType(5, 2).OrNull()}, serde.Field{Name: "b", Type: serde.KindTimestamp.Type().OrNull()})
	for in, want := range map[string]string{
		`{"extra":{"a":[1]},"a":1.5}`:       "{a: 1.50, b: null}",
		`{"a":"15e-1"}`:                     "{a: 1.50, b: null}",
		` { } `:                             "{a: null, b: null}",
		`{"b":"2013-01-01T01:00:00+01:00"}`: "{a: null, b: 2013-01-01 00:00:00 +0000 UTC}",
	} {
		if r, err := jsontext.Rows(typ).Decode([]byte(in)); err != nil || r.String() != want {
			t.Errorf("%s reads as %v, %v, want %s", in, r, err, want)
		}
	}
}

func TestRowsRefuse(t *testing.T) {
	typ := serde.RowType("", serde.Field{Name: "n", Type: serde.MapType(serde.ArrayType(serde.KindInt32.Type()))}, serde.Field{Name: "f", Type: serde.KindFloat32.Type().OrNull()})
	for in, want := range map[string]string{
		``:                          "EOF",
		`null`:                      "null where row",
		`[]`:                        "where row",
		`{}`:                        "n: missing",
		`{"n":null}`:                "n: null where map",
		`{"n":{"k":[1,"2"]}}`:       `n["k"][1]: string where int32`,
		`{"n":{"k":[1,2.0]}}`:       `n["k"][1]: serde: "2.0" is no int32`,
		`{"n":{"k":[2147483648]}}`:  "out of range",
		`{"n":{},"n":{}}`:           "duplicate",
		`{"n":{"a":[],"a":[]}}`:     "duplicate",
		`{"n":{},"x":1,"x":2}`:      "duplicate",
		`{"n":{}}{}`:                "more behind",
		`{"n":{},"f":1e39}`:         "out of range",
		`{"n":{},"f":"1"}`:          "string where float32",
		"{\"n\":{\"\xff\":[]}}":     "UTF-8",
		`{"n":{},"f":1`:             "EOF",
		`{"n":{"k":[1,2]},"f":nul}`: "null",
	} {
		if r, err := jsontext.Rows(typ).Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s reads as %v, %v, want %q", in, r, err, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for in, want := range map[string]any{
		"0": int64(0), "-0": math.Copysign(0, -1), "1e0": 1.0, "1.0": 1.0, "9223372036854775807": int64(math.MaxInt64), "9223372036854775808": uint64(1 << 63),
		"-9223372036854775809": jsontext.Number("-9223372036854775809"), "0.1": 0.1,
	} {
		got, err := jsontext.Values().Decode([]byte(in))
		if f, ok := got.(float64); err != nil || got != want || ok && math.Signbit(f) != math.Signbit(want.(float64)) {
			t.Errorf("%s reads as %v (%T), %v, want %v (%T)", in, got, got, err, want, want)
		}
	}
}

func TestValuesRefuse(t *testing.T) {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for _, in := range []string{"", "nul", `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "1e400", "-1e400", "01", "+1", "NaN", "\"\xff\"", `"\ud800"`, "1 2", "[1,]", `{"a"}`, deep, strings.Repeat("[", 1<<20)} {
		if v, err := jsontext.Values().Decode([]byte(in)); err == nil {
			t.Errorf("%.40q reads as %v", in, v)
		}
		if v, err := jsontext.Raw().Decode([]byte(in)); err == nil && !strings.HasSuffix(in, "e400") {
			t.Errorf("%.40q is raw %.40s", in, v)
		}
	}
	itself := map[string]any{}
	itself["me"] = []any{itself}
	for _, v := range []any{1, int32(1), math.NaN(), math.Inf(1), "\xff", struct{}{}, itself, jsontext.Number("1.5"), jsontext.Number(""), jsontext.Number("01"), map[string]any{"\xff": nil}} {
		if b, err := jsontext.Values().Append(nil, v); err == nil {
			t.Errorf("%T is written as %.80s", v, b)
		}
	}
}

// State of any JSON opens as JSON of any shape, and the other way round.
func TestFormats(t *testing.T) {
	type click struct{ Page string }
	for _, stored := range []string{serde.JSON[click]().Format(), jsontext.Rows(everything).Format(), jsontext.Raw().Format()} {
		if err := serde.Accepts(jsontext.Values(), stored); err != nil {
			t.Error(err)
		}
		if err := serde.Accepts(jsontext.Raw(), stored); err != nil {
			t.Error(err)
		}
	}
	if err := serde.Accepts(serde.JSON[click](), jsontext.Values().Format()); err != nil {
		t.Error(err)
	}
	if err := serde.Accepts(jsontext.Values(), "int64"); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("integers as JSON: %v", err)
	}
}

func ExampleValues() {
	s := jsontext.Values()
	v, _ := s.Decode([]byte(`{"page":"/home","ms":12,"score":0.5,"big":18446744073709551616}`))
	m := v.(map[string]any)
	fmt.Printf("%T %T %T %T\n", m["page"], m["ms"], m["score"], m["big"])
	b, _ := s.Append(nil, v)
	fmt.Printf("%s\n", b)
	// Output:
	// string int64 float64 jsontext.Number
	// {"big":18446744073709551616,"ms":12,"page":"/home","score":0.5}
}

func ExampleRaw() {
	v, err := jsontext.Raw().Decode([]byte(`{"kept": 1.50}`))
	fmt.Println(v, err)
	// Output: {"kept": 1.50} <nil>
}

func ExampleRows() {
	flight := serde.RowType("flight",
		serde.Field{Name: "origin", Type: serde.KindString.Type()},
		serde.Field{Name: "fare", Type: serde.DecimalType(8, 2)},
		serde.Field{Name: "delay", Type: serde.KindInt32.Type().OrNull()})
	s := jsontext.Rows(flight)
	r, err := s.Decode([]byte(`{"origin":"JFK","fare":99.9,"gate":"B22"}`))
	fmt.Println(r, err)
	b, _ := s.Append(nil, r)
	fmt.Printf("%s\n", b)
	// Output:
	// {origin: JFK, fare: 99.90, delay: null} <nil>
	// {"origin":"JFK","fare":"99.90","delay":null}
}
