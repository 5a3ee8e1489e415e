package avro_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/avro/avrotest"
)

type page[T any] struct {
	Items []T `avro:"items"`
	Next  *T  `avro:"next"`
}

type wide struct {
	Yes   bool              `avro:"yes"`
	I8    int8              `avro:"i8"`
	U16   uint16            `avro:"u16"`
	Int   int               `avro:"int"`
	U32   uint32            `avro:"u32"`
	F     float32           `avro:"f"`
	Raw   []byte            `avro:"raw"`
	Hash  [16]byte          `avro:"hash"`
	ID    [16]byte          `avro:"id,uuid"`
	At    time.Time         `avro:"at"`
	Exact time.Time         `avro:"exact,timestamp-nanos"`
	Price *big.Rat          `avro:"price,decimal(10,2)"`
	Span  avro.Duration     `avro:"span"`
	Tags  map[string][]*int `avro:"tags"`
	Up    *wide             `avro:"up"`
	//lint:ignore U1000 serdes must leave a hidden field alone
	priv int
}

// roundTrip encodes and decodes by one serde.
func roundTrip[T any](t *testing.T, s serde.Serde[T], v T) T {
	t.Helper()
	must(t, 0, serde.Problem(s))
	b, err := s.Append([]byte("before"), v)
	must(t, b, err)
	if string(b[:6]) != "before" {
		t.Fatalf("the bytes before became %q", b[:6])
	}
	got, err := s.Decode(b[6:])
	return must(t, got, err)
}

func TestTypesOfGo(t *testing.T) {
	one := 1
	w := wide{Yes: true, I8: -1, U16: 9, Int: -7, U32: 1 << 31, F: 1.5, Raw: []byte{1}, Hash: [16]byte{2}, ID: [16]byte{3},
		At: time.UnixMilli(1234567890123).UTC(), Exact: time.Unix(0, 1234567890123456789).UTC(), Price: big.NewRat(5, 4),
		Span: avro.Duration{Months: 1}, Tags: map[string][]*int{"a": {&one, nil}}}
	w.Up = &wide{Raw: []byte{}, Tags: map[string][]*int{}, At: time.UnixMilli(0).UTC(), Exact: time.Unix(0, 0).UTC()}
	got := roundTrip(t, avro.Of[wide](), w)
	if got.Price.Cmp(w.Price) != 0 || *got.Tags["a"][0] != 1 || got.Tags["a"][1] != nil {
		t.Errorf("got %+v", got)
	}
	if got.Up == nil || got.Up.Up != nil || got.Up.Price != nil {
		t.Errorf("the record inside: %+v", got.Up)
	}
	got.Price, got.Tags, got.Up = w.Price, w.Tags, w.Up
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", w) {
		t.Errorf("got  %+v\nwant %+v", got, w)
	}
}

func TestGenericsScalarsAndPointers(t *testing.T) {
	p := roundTrip(t, avro.Of[page[Order]](avro.Name("shop.OrderPage")), page[Order]{Items: []Order{{1, "a", 2}}, Next: &Order{ID: 3}})
	if len(p.Items) != 1 || p.Items[0].Customer != "a" || p.Next.ID != 3 {
		t.Errorf("%+v", p)
	}
	if o := roundTrip(t, avro.Of[*Order](), &Order{ID: 5}); o == nil || o.ID != 5 {
		t.Errorf("%+v", o)
	}
	if s := roundTrip(t, avro.Of[string](), "x"); s != "x" {
		t.Error(s)
	}
	if s := roundTrip(t, avro.Of[[]int64](), []int64{1, 2}); len(s) != 2 || s[1] != 2 {
		t.Error(s)
	}
	if s := roundTrip(t, avro.Of[map[string]Order](), map[string]Order{"k": {ID: 9}}); s["k"].ID != 9 {
		t.Error(s)
	}
	if s := roundTrip(t, avro.Of[time.Time](), time.UnixMilli(77).UTC()); s.UnixMilli() != 77 {
		t.Error(s)
	}
	schema, err := avro.SchemaOf[page[Order]](avro.Name("shop.OrderPage"))
	if must(t, schema, err); !strings.Contains(schema, `"namespace":"shop"`) {
		t.Error(schema)
	}
}

// generated is what generators of code make: a type that brings its schema along.
type generated struct {
	Suit string `avro:"suit"`
}

func (generated) AvroSchema() string {
	return `{"type":"record","name":"cards.Generated","fields":[{"name":"suit","type":{"type":"enum","name":"Suit","symbols":["CLUBS","HEARTS"],"default":"CLUBS"}}]}`
}

type marshaled struct{ text string }

func (m marshaled) MarshalJSON() ([]byte, error) { return []byte(m.text), nil }

type generated2 struct {
	Suit string `avro:"suit"`
}

func (*generated2) Schema() marshaled { return marshaled{generated{}.AvroSchema()} }

func TestGeneratedTypesHaveTheirSchema(t *testing.T) {
	for _, f := range []func(...avro.Option) (string, error){avro.SchemaOf[generated], avro.SchemaOf[*generated], avro.SchemaOf[generated2], avro.SchemaOf[*generated2]} {
		if s, err := f(); must(t, s, err) != generated(generated{}).AvroSchema() && !strings.Contains(s, `"cards.Generated"`) {
			t.Errorf("schema %s", s)
		}
	}
	s := avro.Of[generated]()
	if got := roundTrip(t, s, generated{"HEARTS"}); got.Suit != "HEARTS" {
		t.Error(got)
	}
	if _, err := s.Append(nil, generated{"SPADES"}); err == nil {
		t.Error("a symbol that the schema does not have was written")
	}
}

func TestBuildRefuses(t *testing.T) {
	type bad struct{ C chan int }
	for what, err := range map[string]error{
		"a channel":            serde.Problem(avro.Of[bad]()),
		"an interface":         serde.Problem(avro.Of[struct{ X any }]()),
		"a registered channel": serde.Problem(avro.Registered[bad]()),
		"no schema":            serde.Problem(avro.Of[map[string]any]()),
		"no JSON":              serde.Problem(avro.Of[Order](avro.Schema("{"))),
		"no record":            serde.Problem(avro.Of[avro.Record](avro.Schema(`"int"`))),
	} {
		if err == nil || !strings.Contains(err.Error(), "avro") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, at := range map[string]serde.Binding{"no registry": {Topic: "t"}} {
		if _, err := serde.Bind(avro.Registered[Order](), at); err == nil || !strings.Contains(err.Error(), "Config") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := serde.Bind(avro.Registered[map[string]any](), serde.Binding{Internal: true}); err == nil || !strings.Contains(err.Error(), "avro.Schema") {
		t.Errorf("a map in state: %v", err)
	}
}

func TestTextIsUTF8(t *testing.T) {
	type all struct {
		S string            `avro:"s"`
		P *string           `avro:"p"`
		L []string          `avro:"l"`
		M map[string]string `avro:"m"`
		N []struct2         `avro:"n"`
		B []byte            `avro:"b"`
	}
	bad := "a\xffb"
	s := avro.Of[all]()
	good := all{S: "ä", P: new("ö"), L: []string{"ü"}, M: map[string]string{"ß": "ß"}, N: []struct2{{"é", nil}}, B: []byte(bad)}
	b, err := s.Append(nil, good)
	must(t, b, err)
	if got, err := s.Decode(b); must(t, got, err).S != "ä" {
		t.Errorf("%+v", got)
	}
	for i, v := range []all{{S: bad}, {P: &bad}, {L: []string{"", bad}}, {M: map[string]string{bad: ""}}, {M: map[string]string{"": bad}}, {N: []struct2{{bad, nil}}},
		{N: []struct2{{"", []struct2{{bad, nil}}}}}} {
		if _, err := s.Append(nil, v); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("case %d was written: %v", i, err)
		}
	}
	for i, letter := range []string{"ä", "ö", "ü", "ß", "é"} {
		broken := strings.Replace(string(b), letter, "\xc3\x28", 1)
		if broken == string(b) {
			t.Fatalf("case %d changes nothing", i)
		}
		if _, err := s.Decode([]byte(broken)); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("case %d was read: %v", i, err)
		}
	}
	dynamic := avro.Of[any](avro.Schema(`{"type":"array","items":"string"}`))
	if _, err := dynamic.Append(nil, []any{"", bad}); err == nil {
		t.Error("dynamic text was written")
	}
}

type struct2 struct {
	S string    `avro:"s"`
	K []struct2 `avro:"k"`
}

func TestSingleObjectEncoding(t *testing.T) {
	s := avro.Of[Order]()
	b, err := s.Append(nil, Order{1, "a", 2})
	must(t, b, err)
	schema, err := avro.SchemaOf[Order]()
	must(t, schema, err)
	typ, err := avro.Parse(schema)
	must(t, typ, err)
	if b[0] != 0xc3 || b[1] != 1 || fmt.Sprintf("%016x", typ.Fingerprint()) != fmt.Sprintf("%02x%02x%02x%02x%02x%02x%02x%02x", b[9], b[8], b[7], b[6], b[5], b[4], b[3], b[2]) {
		t.Errorf("header % x, fingerprint %016x", b[:10], typ.Fingerprint())
	}
	// The example of Avro's specification of fingerprints.
	if typ, err = avro.Parse(`"int"`); must(t, typ, err).Fingerprint() != 0x7275d51a3f395c8f {
		t.Errorf("the fingerprint of int is %016x", typ.Fingerprint())
	}
	for name, bad := range map[string][]byte{"empty": nil, "short": b[:9], "no value": b[:10], "marker": append([]byte{0xc3, 2}, b[2:]...), "another schema": append([]byte{0xc3, 1, 9}, b[3:]...), "more": append(b[:len(b):len(b)], 0)} {
		if v, err := s.Decode(bad); err == nil {
			t.Errorf("%s was read as %+v", name, v)
		}
	}
}

func TestStateEvolves(t *testing.T) {
	v1, v2 := avro.Of[Order](), avro.Of[orderV2](avro.Name("Order"))
	old, err := v1.Append(nil, Order{7, "ann", 1299})
	must(t, old, err)
	if _, err := v2.Decode(old); err == nil {
		t.Error("a value of a schema that nobody named was read")
	}
	if err := serde.Accepts(v2, v1.Format()); err != nil {
		t.Fatal(err)
	}
	got, err := v2.Decode(old)
	if want := (orderV2{7, "ann", 1299, "none", nil}); must(t, got, err) != want {
		t.Errorf("got %+v", got)
	}
	// Written again, it has the new form, which the new program still reads and the old one does not know.
	fresh, err := v2.Append(nil, got)
	must(t, fresh, err)
	if back, err := v2.Decode(fresh); must(t, back, err) != got {
		t.Errorf("back %+v", back)
	}
	err = serde.Accepts(v1, v2.Format())
	if !errors.Is(err, serde.ErrIncompatible) || !strings.Contains(err.Error(), "cents") && !strings.Contains(err.Error(), "customer") {
		t.Errorf("going back: %v", err)
	}
	for _, stored := range []string{"json", "", "avro:{", "avro:\"int\""} {
		if err := serde.Accepts(v2, stored); err == nil {
			t.Errorf("%q was accepted", stored)
		}
	}
}

// Avro passes numbers through when the unit of time changes. We do not.
func TestUnitsOfTimeDoNotChange(t *testing.T) {
	type millis struct {
		At time.Time `avro:"at"`
	}
	type micros struct {
		At time.Time `avro:"at,timestamp-micros"`
	}
	err := serde.Accepts(avro.Of[micros](avro.Name("R")), avro.Of[millis](avro.Name("R")).Format())
	if !errors.Is(err, serde.ErrIncompatible) || !strings.Contains(err.Error(), "at: the unit of time differs") {
		t.Errorf("got %v", err)
	}
	parse := func(s string) *avro.Type { typ, err := avro.Parse(s); return must(t, typ, err) }
	for _, c := range []struct {
		writer, reader string
		ok             bool
	}{
		{`{"type":"int","logicalType":"date"}`, `{"type":"int","logicalType":"time-millis"}`, false},
		{`["null",{"type":"long","logicalType":"timestamp-millis"}]`, `["null",{"type":"long","logicalType":"timestamp-micros"}]`, false},
		{`{"type":"long","logicalType":"timestamp-millis"}`, `["null",{"type":"long","logicalType":"timestamp-micros"}]`, false},
		{`{"type":"map","values":{"type":"int","logicalType":"time-millis"}}`, `{"type":"map","values":{"type":"long","logicalType":"time-micros"}}`, false},
		{`"long"`, `{"type":"long","logicalType":"timestamp-micros"}`, true},
		{`{"type":"long","logicalType":"timestamp-micros"}`, `"long"`, true},
		{`["null",{"type":"long","logicalType":"timestamp-millis"}]`, `["null",{"type":"long","logicalType":"timestamp-millis"}]`, true},
	} {
		if err := avro.CheckReadable(parse(c.writer), parse(c.reader)); (err == nil) != c.ok {
			t.Errorf("%s as %s: %v", c.writer, c.reader, err)
		}
	}
}

func TestRecordsWithoutASchemaInState(t *testing.T) {
	typ, err := avro.Parse(`{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"string","default":"x"}]}`)
	must(t, typ, err)
	r, err := avro.NewRecord(typ, map[string]any{"a": int32(1)})
	must(t, r, err)
	s := bind(t, avro.Registered[avro.Record](), serde.Binding{Internal: true})
	got := roundTrip(t, s, r)
	if v, _ := got.Get("b"); v != "x" || got.Type().Name != "R" {
		t.Errorf("got %v", got.Fields())
	}
	b, err := s.Append(nil, r)
	must(t, b, err)
	for n := range b {
		if _, err := s.Decode(b[:n]); err == nil {
			t.Fatalf("%d of %d bytes were read", n, len(b))
		}
	}
	for _, bad := range []string{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x05\"int\"\x02", "\x02{}"} {
		if _, err := s.Decode([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if err := r.Set("c", 1); err == nil {
		t.Error("a field that the schema lacks was set")
	}
	if _, err := avro.NewRecord(typ, map[string]any{"c": 1}); err == nil {
		t.Error("a record with a field that the schema lacks was made")
	}
	if _, err := s.Append(nil, avro.Record{}); err == nil {
		t.Error("a record without a schema was written")
	}
}

func TestLimits(t *testing.T) {
	s := avro.Of[[]byte]()
	big := make([]byte, avro.MaxValueBytes+1)
	if _, err := s.Append(nil, big); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a value beyond the limit was written: %v", err)
	}
	b, err := s.Append(nil, big[:avro.MaxValueBytes-20])
	must(t, len(b), err)
	if _, err := s.Decode(append(b, make([]byte, 40)...)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a value beyond the limit: %v", err)
	}
	if v, err := s.Decode(b); err != nil || len(v) != avro.MaxValueBytes-20 {
		t.Errorf("a value below the limit: %v", err)
	}
}

// A value that contains itself has no encoding; it must not take the process with it.
func TestAValueThatContainsItself(t *testing.T) {
	tree := avrotest.Tree{Name: "a", Kids: []avrotest.Tree{}}
	tree.Left = &tree
	if _, err := avro.Of[avrotest.Tree]().Append(nil, tree); err == nil {
		t.Error("it was written")
	}
	list := avrotest.Tree{Kids: []avrotest.Tree{}}
	for range 450 {
		next := list
		list = avrotest.Tree{Left: &next, Kids: []avrotest.Tree{}}
	}
	roundTrip(t, avro.Of[avrotest.Tree](), list)
}

// The shield says the same as the codec about everything that is broken.
func TestShield(t *testing.T) {
	for _, v := range avrotest.Values() {
		typ, err := avro.Parse(v.Schema)
		must(t, typ, err)
		check := avro.Shield(typ)
		if v.Hex == "" {
			continue
		}
		b := fromHex(t, v.Hex)
		if err := check(b); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		if err := check(append(b, 0)); err == nil {
			t.Errorf("%s: a byte more passed", v.Name)
		}
		for n := range b {
			if err := check(b[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes passed", v.Name, n, len(b))
			}
		}
		if n := testing.AllocsPerRun(10, func() { check(b) }); n != 0 {
			t.Errorf("%s: %v allocations", v.Name, n)
		}
	}
	for _, h := range avrotest.Hostile() {
		typ, err := avro.Parse(h.Schema)
		must(t, typ, err)
		if err := avro.Shield(typ)(fromHex(t, h.Hex)); err == nil {
			t.Errorf("%s passed", h.Name)
		}
	}
	if err := avro.Shield(&avro.Type{Kind: avro.KindString})([]byte("\x02\xff")); err == nil {
		t.Error("text that is not UTF-8 passed")
	}
	if err := avro.Shield(&avro.Type{Kind: avro.KindBoolean})([]byte{2}); err == nil {
		t.Error("a boolean of 2 passed")
	}
}
