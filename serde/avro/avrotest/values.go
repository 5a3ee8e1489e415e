package avrotest

import (
	"math"
	"math/big"
	"time"

	"github.com/weirstream/weir/serde/avro"
)

// A Value is a case of the kit: a Go value, its schema and its bytes.
type Value struct {
	Name   string
	Schema string
	Go     any    // not a pointer; its type is what is compiled for
	Hex    string // of the only encoding; "" where several are right
}

// Plain is a record of all primitive kinds.
type Plain struct {
	Yes    bool    `avro:"yes"`
	Small  int32   `avro:"small"`
	Large  int64   `avro:"large"`
	Single float32 `avro:"single"`
	Double float64 `avro:"double"`
	Text   string  `avro:"text"`
	Raw    []byte  `avro:"raw"`
}

const plainSchema = `{"type":"record","name":"Plain","fields":[
	{"name":"yes","type":"boolean"},{"name":"small","type":"int"},{"name":"large","type":"long"},{"name":"single","type":"float"},
	{"name":"double","type":"double"},{"name":"text","type":"string"},{"name":"raw","type":"bytes"}]}`

// Nested has everything that contains something.
type Nested struct {
	Inner  Plain              `avro:"inner"`
	Maybe  *Plain             `avro:"maybe"`
	List   []Plain            `avro:"list"`
	Counts map[string]int64   `avro:"counts"`
	Lists  map[string][]int32 `avro:"lists"`
	Suit   string             `avro:"suit"`
	Hash   [4]byte            `avro:"hash"`
	Opt    *string            `avro:"opt"`
}

const nestedSchema = `{"type":"record","name":"Nested","namespace":"kit","fields":[
	{"name":"inner","type":` + plainSchema + `},{"name":"maybe","type":["null","Plain"],"default":null},{"name":"list","type":{"type":"array","items":"Plain"}},
	{"name":"counts","type":{"type":"map","values":"long"}},{"name":"lists","type":{"type":"map","values":{"type":"array","items":"int"}}},
	{"name":"suit","type":{"type":"enum","name":"Suit","symbols":["CLUBS","HEARTS"]}},{"name":"hash","type":{"type":"fixed","name":"Hash","size":4}},
	{"name":"opt","type":["string","null"]}]}`

// Tree contains itself.
type Tree struct {
	Name string `avro:"name"`
	Left *Tree  `avro:"left"`
	Kids []Tree `avro:"kids"`
}

const treeSchema = `{"type":"record","name":"Tree","fields":[{"name":"name","type":"string"},{"name":"left","type":["null","Tree"],"default":null},
	{"name":"kids","type":{"type":"array","items":"Tree"}}]}`

// Logical has the logical types.
type Logical struct {
	Day     time.Time     `avro:"day,date"`
	Clock   time.Duration `avro:"clock"`
	ClockUs time.Duration `avro:"clock_us,time-micros"`
	At      time.Time     `avro:"at"`
	AtUs    time.Time     `avro:"at_us,timestamp-micros"`
	Local   time.Time     `avro:"local"`
	LocalUs time.Time     `avro:"local_us"`
	Price   *big.Rat      `avro:"price,decimal(12,2)"`
	Exact   *big.Rat      `avro:"exact"`
	ID      string        `avro:"id,uuid"`
	Span    avro.Duration `avro:"span"`
}

const logicalSchema = `{"type":"record","name":"Logical","fields":[
	{"name":"day","type":{"type":"int","logicalType":"date"}},{"name":"clock","type":{"type":"int","logicalType":"time-millis"}},
	{"name":"clock_us","type":{"type":"long","logicalType":"time-micros"}},{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"at_us","type":{"type":"long","logicalType":"timestamp-micros"}},{"name":"local","type":{"type":"long","logicalType":"local-timestamp-millis"}},
	{"name":"local_us","type":{"type":"long","logicalType":"local-timestamp-micros"}},
	{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}},
	{"name":"exact","type":{"type":"fixed","name":"Exact","size":8,"logicalType":"decimal","precision":16,"scale":4}},
	{"name":"id","type":{"type":"string","logicalType":"uuid"}},{"name":"span","type":{"type":"fixed","name":"Span","size":12,"logicalType":"duration"}}]}`

func text(s string) *string { return &s }

var (
	plain = Plain{true, -3, math.MaxInt64, 1.5, math.Inf(-1), "grüße", []byte{0, 255}}
	noon  = time.Date(1969, 7, 20, 20, 17, 40, 123_000_000, time.UTC)
)

func logical() Logical {
	return Logical{
		Day: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), Clock: 90 * time.Minute, ClockUs: 17 * time.Microsecond,
		At: noon, AtUs: noon.Add(456 * time.Microsecond), Local: noon, LocalUs: noon.Add(time.Microsecond),
		Price: big.NewRat(-1299, 100), Exact: big.NewRat(12345678, 10000), ID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", Span: avro.Duration{Months: 1, Days: 2, Milliseconds: 3},
	}
}

// Values are the cases that every codec encodes and decodes.
func Values() []Value {
	nested := Nested{Inner: plain, Maybe: &plain, List: []Plain{plain, {Raw: []byte{}}}, Counts: map[string]int64{"a": 1},
		Lists: map[string][]int32{"b": {1, 2, 3}}, Suit: "HEARTS", Hash: [4]byte{1, 2, 3, 4}, Opt: text("x")}
	return []Value{
		{"boolean", `"boolean"`, true, "01"},
		{"int", `"int"`, int32(-64), "7f"},
		{"int min", `"int"`, int32(math.MinInt32), "ffffffff0f"},
		{"long", `"long"`, int64(64), "8001"},
		{"long max", `"long"`, int64(math.MaxInt64), "feffffffffffffffff01"},
		{"float", `"float"`, float32(1.5), "0000c03f"},
		{"double", `"double"`, 1.5, "000000000000f83f"},
		{"string", `"string"`, "foo", "06666f6f"},
		{"bytes", `"bytes"`, []byte{1, 2}, "040102"},
		{"empty string", `"string"`, "", "00"},
		{"array", `{"type":"array","items":"long"}`, []int64{3, 27}, "04063600"},
		{"empty array", `{"type":"array","items":"long"}`, []int64{}, "00"},
		{"map", `{"type":"map","values":"int"}`, map[string]int32{"a": 1}, "0202610200"},
		{"enum", `{"type":"enum","name":"E","symbols":["A","B"]}`, "B", "02"},
		{"fixed", `{"type":"fixed","name":"F","size":2}`, [2]byte{1, 2}, "0102"},
		{"null first", `["null","string"]`, text("a"), "020261"},
		{"null last", `["string","null"]`, text("a"), "000261"},
		{"null", `["null","string"]`, (*string)(nil), "00"},
		{"plain", plainSchema, plain, "01" + "05" + "feffffffffffffffff01" + "0000c03f" + "000000000000f0ff" + "0e6772c3bcc39f65" + "0400ff"},
		{"nested", nestedSchema, nested, ""},
		{"nested nulls", nestedSchema, Nested{Inner: Plain{Raw: []byte{}}, List: []Plain{}, Counts: map[string]int64{}, Lists: map[string][]int32{}, Suit: "CLUBS"}, ""},
		{"tree", treeSchema, Tree{"root", &Tree{"l", nil, []Tree{}}, []Tree{{"k", nil, []Tree{}}}}, "08726f6f74" + "02026c0000" + "02026b0000" + "00"},
		{"logical", logicalSchema, logical(), ""},
	}
}

// Dynamic are cases whose Go type says nothing: any.
func Dynamic() []Value {
	plainFields := map[string]any{"yes": true, "small": int32(-3), "large": int64(5), "single": float32(1.5), "double": 2.5, "text": "grüße", "raw": []byte{0, 255}}
	l := logical()
	return []Value{
		{"int", `"int"`, int32(1), "02"},
		{"plain", plainSchema, plainFields, ""},
		{"array", `{"type":"array","items":"int"}`, []any{int32(1), int32(2)}, "04020400"},
		{"map", `{"type":"map","values":"string"}`, map[string]any{"a": "b"}, "020261026200"},
		{"union null", `["null","int","string"]`, nil, "00"},
		{"union int", `["null","int","string"]`, int32(1), "0202"},
		{"union string", `["null","int","string"]`, "a", "040261"},
		{"nullable record", `["null",` + plainSchema + `]`, plainFields, ""},
		{"enum", `{"type":"enum","name":"E","symbols":["A","B"]}`, "B", "02"},
		{"nested", `{"type":"record","name":"N","fields":[{"name":"in","type":` + plainSchema + `},{"name":"opt","type":["null","Plain"]},{"name":"none","type":["null","Plain"]},
			{"name":"list","type":{"type":"array","items":["null","long"]}}]}`,
			map[string]any{"in": plainFields, "opt": plainFields, "none": nil, "list": []any{int64(1), nil}}, ""},
		{"tree", treeSchema, map[string]any{"name": "r", "left": map[string]any{"name": "l", "left": nil, "kids": []any{}}, "kids": []any{}}, ""},
		{"logical", logicalSchema, map[string]any{"day": l.Day, "clock": l.Clock, "clock_us": l.ClockUs, "at": l.At, "at_us": l.AtUs, "local": l.Local, "local_us": l.LocalUs,
			"price": l.Price, "exact": l.Exact, "id": l.ID, "span": l.Span}, ""},
	}
}
