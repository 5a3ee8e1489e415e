package jsonschema_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/jsonschema"
	"github.com/weirstream/weir/serde/jsontext"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
	"github.com/weirstream/weir/serde/serdetest"
)

type order struct {
	ID    int64   `json:"id"`
	Email string  `json:"email"`
	Items []item  `json:"items"`
	Total float64 `json:"total"`
}

type item struct {
	SKU   string `json:"sku"`
	Count int    `json:"count"`
}

const orderSchema = `{
	"title": "Order", "type": "object", "required": ["id", "items"], "additionalProperties": false,
	"properties": {
		"id": {"type": "integer", "minimum": 1, "multipleOf": 1},
		"email": {"type": "string", "pattern": "^$|@"},
		"total": {"type": "number", "maximum": 1e300},
		"items": {"type": ["array", "null"], "uniqueItems": true, "items": {"$ref": "#/definitions/item"}}
	},
	"definitions": {"item": {"type": "object", "properties": {"sku": {"type": "string", "maxLength": 5}, "count": {"type": "integer"}}}}
}`

func orders() []order {
	return []order{{ID: 1}, {ID: 1 << 62, Email: "a@b", Items: []item{}, Total: -0.5}, {ID: 2, Items: []item{{"é", 1}, {"b", -1}}, Total: 1e300}}
}

func TestOf(t *testing.T) {
	serdetest.Run(t, jsonschema.Of[order](orderSchema), orders()...)
	serdetest.Run(t, jsonschema.Of[order](orderSchema, jsonschema.TrustReads()), orders()...)
	serdetest.Kit[any]{Serde: jsonschema.Of[any](orderSchema, jsonschema.Body(jsontext.Values())), AllocFactor: 2048, Samples: []any{
		map[string]any{"id": int64(1), "items": nil}, map[string]any{"id": int64(1), "items": []any{map[string]any{"x": nil}}},
	}}.Run(t)
}

func FuzzOf(f *testing.F) { serdetest.Fuzz(f, jsonschema.Of[order](orderSchema), orders()...) }

func TestOfRefuses(t *testing.T) {
	s := jsonschema.Of[order](orderSchema)
	for want, v := range map[string]order{
		`/id breaks "minimum"`:                   {},
		`/email breaks "pattern"`:                {ID: 1, Email: "x"},
		`/items/1/sku breaks "maxLength"`:        {ID: 1, Items: []item{{}, {SKU: "123456"}}},
		`/items breaks "uniqueItems"`:            {ID: 1, Items: []item{{}, {}}},
		`/email breaks "pattern", /id breaks "m`: {Email: "secret"},
	} {
		b, err := s.Append([]byte("x"), v)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v is written as %s, %v, want %q", v, b, err, want)
		}
		if string(b) != "x" {
			t.Errorf("what was refused is in the buffer: %q", b)
		}
	}
	for in, want := range map[string]string{
		`{"id":1}`:                           `/ breaks "required"`,
		`{"id":1,"items":[],"more":1}`:       `/ breaks "additionalProperties"`,
		`{"id":1.5,"items":[]}`:              `/id breaks`,
		`{"id":1,"items":[],"items":[]}`:     "duplicate",
		`{"id":1,"items":[]} x`:              "invalid character",
		`{"id":1,"items":[]} {}`:             "more behind",
		`{"id":1e999999,"items":[]}`:         "exponent",
		`{"id":1,"total":1e-401,"items":[]}`: "exponent",
		`{"id":1e99999999999999,"items":[]}`: "exponent",
		strings.Repeat("9", 1000):            "longer than",
		strings.Repeat("[", 5000):            "deeper than",
		"{\"id\":1,\"email\":\"\xff\"}":      "UTF-8",
		``:                                   "EOF",
		`{"id":1,"items":[` + strings.Repeat(`{"sku":"123456"},`, 1000) + `{}]}`: "and more",
	} {
		if v, err := s.Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1200 {
			t.Errorf("%.60s reads as %v, %v, want %q", in, v, err, want)
		}
	}
	trusting := jsonschema.Of[order](orderSchema, jsonschema.TrustReads())
	if v, err := trusting.Decode([]byte(`{"id":-1}`)); err != nil || v.ID != -1 {
		t.Errorf("trusted reads are validated: %v, %v", v, err)
	}
	if _, err := trusting.Append(nil, order{}); err == nil {
		t.Error("with trusted reads, writes are not validated")
	}
}

func TestProblems(t *testing.T) {
	for want, s := range map[string]serde.Serde[order]{
		"EOF":                            jsonschema.Of[order](""),
		"duplicate":                      jsonschema.Of[order](`{"type":"object","type":"object"}`),
		"type":                           jsonschema.Of[order](`{"type":"nothing"}`),
		"not among the schema's referen": jsonschema.Of[order](`{"$ref":"file:///etc/passwd"}`),
		"http://example.com/x is not am": jsonschema.Of[order](`{"$ref":"http://example.com/x"}`),
		"other.json is not among":        jsonschema.Of[order](`{"$ref":"other.json"}`),
		"pattern":                        jsonschema.Of[order](`{"pattern":"(?=x)"}`),
		"which is no serde of":           jsonschema.Of[order](orderSchema, jsonschema.Body(serde.String)),
		"unexported":                     jsonschema.Of[order](`{}`, jsonschema.Body(serde.Serde[order](refused{}))),
		"more than 4194304":              jsonschema.Registered[order](jsonschema.Schema(strings.Repeat(" ", 4<<20+1))),
	} {
		if err := serde.Problem(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("problem is %v, want %q", err, want)
		}
	}
	if err := serde.Problem(jsonschema.Of[order](orderSchema)); err != nil {
		t.Error(err)
	}
}

// refused is a body with a problem.
type refused struct{ serde.Serde[order] }

func (refused) Problem() error { return errors.New("unexported") }

func bind[T any](t testing.TB, s serde.Serde[T], at serde.Binding) serde.Serde[T] {
	t.Helper()
	b, err := serde.Bind(s, at)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func register(t testing.TB, reg serde.Registry, subject, format, text string, refs ...serde.Reference) int {
	t.Helper()
	id, err := reg.Register(context.Background(), subject, serde.Schema{Format: format, Text: text, References: refs})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestRegistered(t *testing.T) {
	reg := registrytest.New()
	at := serde.Binding{Topic: "orders", Registry: reg, Writes: true}
	s := bind(t, jsonschema.Registered[order](jsonschema.Schema(orderSchema)), at)
	serdetest.Run(t, s, orders()...)
	b, err := s.Append([]byte("x"), order{ID: 1})
	if err != nil || !strings.HasPrefix(string(b), "x\x00\x00\x00\x00\x01{") || reg.IDs() != 1 {
		t.Errorf("got %q, %v, %d schemas", b, err, reg.IDs())
	}
	if got := reg.Subjects(); !slices.Equal(got, []string{"orders-value"}) {
		t.Errorf("subjects are %q", got)
	}
	titled := bind(t, jsonschema.Registered[order](jsonschema.Schema(orderSchema), jsonschema.Subject(registry.RecordName)), at)
	if _, err := titled.Append(nil, order{ID: 1}); err != nil || !slices.Contains(reg.Subjects(), "Order") {
		t.Errorf("subjects are %q, %v", reg.Subjects(), err)
	}
}

func FuzzRegistered(f *testing.F) {
	s := bind(f, jsonschema.Registered[order](jsonschema.Schema(orderSchema)), serde.Binding{Topic: "orders", Registry: registrytest.New()})
	serdetest.Fuzz(f, s, orders()...)
}

// Without a schema of its own, a serde reads by what was written, and finds what that refers to.
func TestRegisteredReferences(t *testing.T) {
	reg := registrytest.New()
	register(t, reg, "item", serde.FormatJSON, `{"type":"object","properties":{"sku":{"type":"string"}}}`)
	ref := serde.Reference{Name: "item.json", Subject: "item", Version: 1}
	ids := []int{
		register(t, reg, "a", serde.FormatJSON, `{"properties":{"items":{"items":{"$ref":"item.json"}}}}`, ref),
		register(t, reg, "b", serde.FormatJSON, `{"$id":"https://example.com/s/order.json","properties":{"items":{"items":{"$ref":"item.json"}}}}`, ref),
	}
	s := bind(t, jsonschema.Registered[order](), serde.Binding{Topic: "orders", Registry: reg})
	for _, id := range ids {
		if v, err := s.Decode(append(serde.AppendSchemaID(nil, id), `{"items":[{"sku":"a"}]}`...)); err != nil || v.Items[0].SKU != "a" {
			t.Errorf("id %d: %v, %v", id, v, err)
		}
		if v, err := s.Decode(append(serde.AppendSchemaID(nil, id), `{"items":[{"sku":5}]}`...)); err == nil || !strings.Contains(err.Error(), "/items/0/sku") {
			t.Errorf("id %d: %v, %v", id, v, err)
		}
	}
	if _, err := s.Append(nil, order{}); err == nil || !strings.Contains(err.Error(), "writing") {
		t.Errorf("written without a schema: %v", err)
	}
	if _, err := serde.Bind(jsonschema.Registered[order](), serde.Binding{Topic: "orders", Registry: reg, Writes: true}); err == nil {
		t.Error("a sink without a schema was bound")
	}
}

func TestRegisteredRefuses(t *testing.T) {
	reg := registrytest.New()
	avro := register(t, reg, "avro", serde.FormatAvro, `"string"`)
	broken := register(t, reg, "broken", serde.FormatJSON, `{"type":"nothing"}`)
	outside := register(t, reg, "outside", serde.FormatJSON, `{"$ref":"file:///etc/passwd"}`)
	s := bind(t, jsonschema.Registered[order](), serde.Binding{Topic: "orders", Registry: reg})
	for id, want := range map[int]string{avro: "AVRO", broken: "type", outside: "not among"} {
		if v, err := s.Decode(append(serde.AppendSchemaID(nil, id), `{}`...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("id %d: %v, %v", id, v, err)
		}
	}
	if _, err := s.Decode(append(serde.AppendSchemaID(nil, 99), `{}`...)); !errors.Is(err, serde.ErrUnknownSchema) {
		t.Errorf("an unknown id: %v", err)
	}
	if _, err := s.Decode([]byte(`{"id":1}`)); err == nil {
		t.Error("JSON without an id was read")
	}
	if _, err := serde.Bind(jsonschema.Registered[order](), serde.Binding{Topic: "orders"}); err == nil || !strings.Contains(err.Error(), "needs a registry") {
		t.Errorf("no registry: %v", err)
	}
	register(t, reg, "taken-value", serde.FormatAvro, `"string"`)
	at := serde.Binding{Topic: "taken", Registry: reg, Writes: true}
	if _, err := serde.Bind(jsonschema.Registered[order](jsonschema.Schema(orderSchema)), at); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("another format in the subject: %v", err)
	}
	if _, err := serde.Bind(jsonschema.Registered[order](jsonschema.UseLatest()), at); err == nil || !strings.Contains(err.Error(), "AVRO") {
		t.Errorf("the latest is of another format: %v", err)
	}
}

func TestRegisteredFixedVersions(t *testing.T) {
	reg := registrytest.New()
	v1 := register(t, reg, "orders-value", serde.FormatJSON, `{"properties":{"id":{"maximum":5}}}`)
	v2 := register(t, reg, "orders-value", serde.FormatJSON, `{"properties":{"id":{"maximum":9}}}`)
	at := serde.Binding{Topic: "orders", Registry: reg, Writes: true}
	for id, opt := range map[int]jsonschema.Option{v1: jsonschema.Version(1), v2: jsonschema.UseLatest()} {
		s := bind(t, jsonschema.Registered[order](opt), at)
		b, err := s.Append(nil, order{ID: 3})
		if got, _, _ := serde.CutSchemaID(b); err != nil || got != id {
			t.Errorf("got id %d, %v, want %d", got, err, id)
		}
		if _, err := s.Append(nil, order{ID: 7}); (err == nil) != (id == v2) {
			t.Errorf("id %d: 7 gives %v", id, err)
		}
	}
}

func TestRegisteredInternal(t *testing.T) {
	s := bind(t, jsonschema.Registered[order](jsonschema.Schema(orderSchema)), serde.Binding{Internal: true})
	b, err := s.Append(nil, order{ID: 1})
	if err != nil || b[0] != '{' || s.Format() != serde.JSON[order]().Format() {
		t.Errorf("state is %q, %v in format %s", b, err, s.Format())
	}
}

func TestRegisteredHeaders(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "x", serde.FormatJSON, `{}`)
	s := bind(t, jsonschema.Registered[order](), serde.Binding{Topic: "orders", Registry: reg, Key: true}).(serde.HeaderDecoder[order])
	header := func(name string) []byte {
		if name == "__key_schema_id" {
			return serde.AppendSchemaID(nil, id)
		}
		return nil
	}
	if v, err := s.DecodeHeaders([]byte(`{"id":5}`), header); err != nil || v.ID != 5 {
		t.Errorf("got %v, %v", v, err)
	}
}

func BenchmarkOf(b *testing.B) {
	v := orders()[2]
	for name, s := range map[string]serde.Serde[order]{"validated": jsonschema.Of[order](orderSchema), "trusted": jsonschema.Of[order](orderSchema, jsonschema.TrustReads())} {
		text, _ := s.Append(nil, v)
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Decode(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleOf() {
	type Reading struct {
		Celsius float64 `json:"celsius"`
	}
	s := jsonschema.Of[Reading](`{"properties": {"celsius": {"minimum": -273.15}}}`)
	b, err := s.Append(nil, Reading{20})
	fmt.Printf("%s %v\n", b, err)

	_, err = s.Decode([]byte(`{"celsius": -300}`))
	fmt.Println(err)
	// Output:
	// {"celsius":20} <nil>
	// jsonschema: value does not satisfy the schema: /celsius breaks "minimum"
}

// An app binds its serdes itself; here it is done by hand, with a registry in memory.
func ExampleRegistered() {
	type Reading struct {
		Celsius float64 `json:"celsius"`
	}
	s, err := serde.Bind(jsonschema.Registered[Reading](jsonschema.Schema(`{"title": "Reading"}`)),
		serde.Binding{Topic: "readings", Registry: registrytest.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := s.Append(nil, Reading{20})
	fmt.Printf("%q %v\n", b, err)
	// Output: "\x00\x00\x00\x00\x01{\"celsius\":20}" <nil>
}
