package csv_test

import (
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/csv"
	"github.com/weirstream/weir/serde/serdetest"
)

func lines() [][]string {
	return [][]string{{""}, {"a"}, {"", ""}, {"a,b", `"`, `""`, "x\r\ny", "\n", "é;\t"}, slices.Repeat([]string{"x"}, 300)}
}

func TestFields(t *testing.T) {
	serdetest.Run(t, csv.Fields(), lines()...)
	serdetest.Run(t, csv.Fields(csv.Comma(';')), lines()...)
	serdetest.Run(t, csv.Fields(csv.Comma('\t')), lines()...)
}

func FuzzFields(f *testing.F) { serdetest.Fuzz(f, csv.Fields(), lines()...) }

func TestFieldsGolden(t *testing.T) {
	for in, want := range map[string][]string{
		"":                {""},
		"\n":              {""},
		"a,b\r\n":         {"a", "b"},
		`a,"b"`:           {"a", "b"},
		`"a""b",""`:       {`a"b`, ""},
		",":               {"", ""},
		"\"a\nb\",c\n":    {"a\nb", "c"},
		`""""`:            {`"`},
		" a , \"b\"x"[:4]: {" a ", ""},
	} {
		if got, err := csv.Fields().Decode([]byte(in)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q reads as %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`a"b`, `"a`, `"a"b`, `"`, `a,"`, "a\nb", "a\r", "a\n\n", `"a" ,b`, `"a"""b`} {
		if got, err := csv.Fields().Decode([]byte(in)); err == nil {
			t.Errorf("%q reads as %q", in, got)
		}
	}
	if b, err := csv.Fields().Append(nil, nil); err == nil {
		t.Errorf("no fields are written as %q", b)
	}
}

type code string

type flight struct {
	Carrier  string
	Number   int16
	Origin   code
	Delay    *int32 `csv:"dep_delay"`
	Distance float32
	Hours    float64
	OnTime   bool
	Seats    *uint8
	At       time.Time
	Day      serde.Date
	Fare     serde.Decimal
	Gate     *string
	Internal []int `csv:"-"`
	Addr     netip.Addr
	Big      *big.Int
	Code     *netip.Addr
}

func flights() []flight {
	delay, seats, empty, gate := int32(-7), uint8(255), "", `B"22,`
	local := netip.MustParseAddr("::1")
	fare, _ := serde.ParseDecimal("-12.50")
	at := time.Date(2013, 1, 1, 5, 15, 0, 1, time.UTC)
	return []flight{
		{At: at, Fare: serde.NewDecimal(new(big.Int), 0)},
		{"UA", -1545, "EWR", &delay, 0.1, math.MaxFloat64, true, &seats, at, 15706, fare, &empty, nil, local, big.NewInt(1 << 60), &local},
		{"", math.MinInt16, "é", nil, math.MaxFloat32, -1e-300, false, nil, at, -1, fare, &gate, nil, netip.Addr{}, nil, nil},
	}
}

func equalFlights(a, b flight) bool {
	fares := a.Fare.Cmp(b.Fare) == 0
	a.Fare, b.Fare = serde.Decimal{}, serde.Decimal{}
	return fares && reflect.DeepEqual(a, b)
}

func TestOf(t *testing.T) {
	for _, opts := range [][]csv.Option{nil, {csv.Null("NA")}, {csv.Comma('-'), csv.Null("1")}} {
		serdetest.Kit[flight]{Serde: csv.Of[flight](opts...), Samples: flights(), Equal: equalFlights}.Run(t)
	}
}

func FuzzOf(f *testing.F) { serdetest.Fuzz(f, csv.Of[flight](), flights()...) }

func TestOfProblems(t *testing.T) {
	problem(t, csv.Of[int](), "no struct")
	problem(t, csv.Of[struct{}](), "no fields")
	problem(t, csv.Of[struct{ a int }](), "a is not exported")
	problem(t, csv.Of[struct{ A []int }](), "A: a line has no place")
	problem(t, csv.Of[struct{ A **int }](), "A: a line has no place")
	problem(t, csv.Of[struct{ A any }](), "A: a line has no place")
	problem(t, csv.Fields(csv.Comma('"')), "cannot be the comma")
	problem(t, csv.Fields(csv.Comma('\n')), "cannot be the comma")
	problem(t, csv.Fields(csv.Comma('é')), "cannot be the comma")
	problem(t, csv.Fields(csv.Null("N,A")), "cannot be the null")
	problem(t, csv.Rows(serde.RowType("r")), "at least one field")
	problem(t, csv.Rows(serde.KindInt32.Type()), "no row")
	problem(t, csv.Rows(serde.RowType("r", serde.Field{Name: "a", Type: serde.MapType(serde.KindInt32.Type())})), "a: a line has no place for map<int32>")
}

func problem[T any](t *testing.T, s serde.Serde[T], want string) {
	t.Helper()
	if err := serde.Problem(s); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("problem is %v, want %q", err, want)
	}
}

var typ = serde.RowType("flight",
	serde.Field{Name: "s", Type: serde.KindString.Type().OrNull()},
	serde.Field{Name: "plain", Type: serde.KindString.Type()},
	serde.Field{Name: "n", Type: serde.KindInt32.Type().OrNull()},
	serde.Field{Name: "d", Type: serde.DecimalType(6, 2).OrNull()},
	serde.Field{Name: "f", Type: serde.KindFloat64.Type()},
	serde.Field{Name: "b", Type: serde.KindBytes.Type().OrNull()},
	serde.Field{Name: "t", Type: serde.KindTime.Type().OrNull()},
	serde.Field{Name: "l", Type: serde.KindLocalTimestamp.Type().OrNull()})

func rowsOf(t testing.TB) []serde.Row {
	d, _ := serde.ParseDecimal("-1234.5")
	a, err := serde.NewRow(typ, nil, "", nil, nil, math.Inf(-1), nil, nil, nil)
	b, err2 := serde.NewRow(typ, "", "NA", int32(-1), d, 0.25, []byte{}, time.Hour, time.Unix(0, 1).UTC())
	c, err3 := serde.NewRow(typ, "NA", "a,\"b\"\n", int32(1), d, math.NaN(), []byte{0xff}, time.Duration(1), time.Unix(0, 0).UTC())
	if err != nil || err2 != nil || err3 != nil {
		t.Fatal(err, err2, err3)
	}
	return []serde.Row{a, b, c}
}

func TestRows(t *testing.T) {
	for _, opts := range [][]csv.Option{nil, {csv.Null("NA")}, {csv.Comma('.')}} {
		serdetest.Kit[serde.Row]{Serde: csv.Rows(typ, opts...), Samples: rowsOf(t), Equal: serde.Row.Equal}.Run(t)
	}
}

func FuzzRows(f *testing.F) { serdetest.Fuzz(f, csv.Rows(typ), rowsOf(f)...) }

func TestRowsRefuse(t *testing.T) {
	two := serde.RowType("", serde.Field{Name: "a", Type: serde.KindInt32.Type()}, serde.Field{Name: "b", Type: serde.KindString.Type().OrNull()})
	for in, want := range map[string]string{
		"1":       "line has 1 fields, want 2",
		"1,2,3":   "more than 2 fields",
		",x":      `a: serde: "" is no int32`,
		"1,\xff":  "b: serde: string is not UTF-8",
		"1,\"x":   "b: csv: a quote is never closed",
		"1.5,x":   "a: serde",
		"1,x\ny":  "line break",
		"1,x,\n,": "more than",
	} {
		if r, err := csv.Rows(two).Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q reads as %v, %v, want %q", in, r, err, want)
		}
	}
}

func TestNoAllocs(t *testing.T) {
	serdetest.NoAllocs(t, csv.Fields(), []string{"UA", "1545", "EWR"})
}

func BenchmarkOf(b *testing.B) {
	s, v := csv.Of[flight](), flights()[1]
	line, _ := s.Append(nil, v)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 1024)
		for b.Loop() {
			s.Append(buf, v)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Decode(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func ExampleFields() {
	v, err := csv.Fields(csv.Comma(';')).Decode([]byte(`UA;1545;"Newark; NJ"`))
	fmt.Printf("%q %v\n", v, err)
	// Output: ["UA" "1545" "Newark; NJ"] <nil>
}

func ExampleOf() {
	type Flight struct {
		Carrier string
		Number  int
		Delay   *int `csv:"dep_delay"`
	}
	s := csv.Of[Flight](csv.Null("NA"))
	f, err := s.Decode([]byte("UA,1545,NA"))
	fmt.Println(f.Carrier, f.Number, f.Delay == nil, err)

	_, err = s.Decode([]byte("UA,1545,late"))
	fmt.Println(err)
	// Output:
	// UA 1545 true <nil>
	// csv: dep_delay: serde: "late" is no int64: invalid syntax
}

func ExampleRows() {
	flight := serde.RowType("flight",
		serde.Field{Name: "carrier", Type: serde.KindString.Type()},
		serde.Field{Name: "delay", Type: serde.KindInt32.Type().OrNull()})
	s := csv.Rows(flight)
	r, err := s.Decode([]byte("UA,\n"))
	fmt.Println(r, err)
	b, _ := s.Append(nil, r)
	fmt.Printf("%s\n", b)
	// Output:
	// {carrier: UA, delay: null} <nil>
	// UA,
}
