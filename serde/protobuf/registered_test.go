package protobuf_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/protobuf"
	"github.com/weirstream/weir/serde/protobuf/testdata/testpb"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
	"github.com/weirstream/weir/serde/serdetest"
)

func bind[T any](t testing.TB, s serde.Serde[T], at serde.Binding) serde.Serde[T] {
	t.Helper()
	b, err := serde.Bind(s, at)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRegistered(t *testing.T) {
	reg := registrytest.New()
	at := serde.Binding{Topic: "orders", Registry: reg, Writes: true}
	s := bind(t, protobuf.Registered[*testpb.Order](), at)
	serdetest.Kit[*testpb.Order]{Serde: s, Samples: orders(t), Equal: equal[*testpb.Order]}.Run(t)

	if got := reg.Subjects(); !slices.Equal(got, []string{"money.proto", "orders-value"}) {
		t.Errorf("subjects are %q", got)
	}
	_, schema, err := reg.Latest(context.Background(), "orders-value")
	want := []serde.Reference{{Name: "money.proto", Subject: "money.proto", Version: 1}}
	if err != nil || schema.Format != serde.FormatProtobuf || !slices.Equal(schema.References, want) {
		t.Errorf("registered %v with references %v, %v", schema.Format, schema.References, err)
	}
	b, err := s.Append([]byte("x"), &testpb.Order{})
	if err != nil || string(b) != "x\x00\x00\x00\x00\x02\x00" {
		t.Errorf("an empty order is % x, %v", b, err)
	}
	again := bind(t, protobuf.Registered[*testpb.Order](), at)
	if c, err := again.Append([]byte("x"), &testpb.Order{}); err != nil || string(c) != string(b) || reg.IDs() != 2 {
		t.Errorf("written by another process it is % x, %v, and there are %d schemas", c, err, reg.IDs())
	}
}

// A message that is not the first of its file says so in its indexes, and readers of other messages refuse it.
func TestRegisteredIndexes(t *testing.T) {
	reg := registrytest.New()
	at := serde.Binding{Topic: "deep", Registry: reg}
	deep := bind(t, protobuf.Registered[*testpb.Other_Inner_Deep](), at)
	b, err := deep.Append(nil, &testpb.Other_Inner_Deep{N: 5})
	if err != nil || string(b[5:]) != "\x06\x02\x00\x00\x08\x05" {
		t.Fatalf("got % x, %v", b, err)
	}
	if v, err := deep.Decode(b); err != nil || v.GetN() != 5 {
		t.Errorf("got %v, %v", v, err)
	}
	if v, err := bind(t, protobuf.Registered[*testpb.Other](), at).Decode(b); err == nil || !strings.Contains(err.Error(), "weir.test.Other.Inner.Deep") {
		t.Errorf("read as another message it is %v, %v", v, err)
	}
	any, err := bind(t, protobuf.Registered[*dynamicpb.Message](), at).Decode(b)
	if err != nil || any.Descriptor().FullName() != "weir.test.Other.Inner.Deep" {
		t.Errorf("read as it was written it is %v, %v", any, err)
	}
	row, err := bind(t, protobuf.Registered[serde.Row](), at).Decode(b)
	if err != nil || row.String() != "{n: 5}" {
		t.Errorf("as a row it is %v, %v", row, err)
	}
}

const moneyV2 = `syntax = "proto3"; package weir.test; message Money { string currency = 1; int64 units = 2; repeated string tags = 3; }`

func schema(text string, refs ...serde.Reference) serde.Schema {
	return serde.Schema{Format: serde.FormatProtobuf, Text: text, References: refs}
}

func register(t testing.TB, reg serde.Registry, subject string, s serde.Schema) int {
	t.Helper()
	id, err := reg.Register(context.Background(), subject, s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Old readers keep fields that they do not know; new ones see zeros for what old writers did not have.
func TestRegisteredEvolves(t *testing.T) {
	reg := registrytest.New()
	at := serde.Binding{Topic: "m", Registry: reg}
	v1 := bind(t, protobuf.Registered[*testpb.Money](), at)
	old, err := v1.Append(nil, &testpb.Money{Currency: "EUR", Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	md, err := protobuf.Parse("Money", moneyV2, nil)
	if err != nil {
		t.Fatal(err)
	}
	v2 := bind(t, protobuf.Registered[serde.Row](protobuf.Message(md)), at)
	r, err := v2.Decode(old)
	if err != nil || r.String() != "{currency: EUR, units: 5, tags: []}" {
		t.Errorf("the new reader sees %v, %v", r, err)
	}
	r, err = r.With("tags", []any{"new"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := v2.Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	m, err := v1.Decode(b)
	if err != nil || m.GetUnits() != 5 || len(m.ProtoReflect().GetUnknown()) == 0 {
		t.Errorf("the old reader sees %v, %v", m, err)
	}
}

func TestRegisteredRefusesOtherTypes(t *testing.T) {
	reg := registrytest.New()
	at := serde.Binding{Topic: "m", Registry: reg}
	changed := register(t, reg, "changed", schema(strings.Replace(moneyV2, "int64 units", "string units", 1)))
	broken := register(t, reg, "broken", schema("message {"))
	importing := register(t, reg, "importing", schema(`syntax = "proto3"; import "gone.proto"; message M { gone.G g = 1; }`))
	avro := register(t, reg, "avro", serde.Schema{Format: serde.FormatAvro, Text: `"string"`})
	s := bind(t, protobuf.Registered[*testpb.Money](), at)
	for id, want := range map[int]string{changed: "weir.test.Money.units (2) was string, and is int64", broken: "syntax error", importing: "gone.proto", avro: "AVRO"} {
		v, err := s.Decode(append(serde.AppendSchemaID(nil, id), 0))
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, serde.ErrRegistryUnavailable) {
			t.Errorf("got %v, %v, want %q", v, err, want)
		}
	}
	if _, err := s.Decode(append(serde.AppendSchemaID(nil, 99), 0)); !errors.Is(err, serde.ErrUnknownSchema) {
		t.Errorf("an unknown id: %v", err)
	}
}

func TestRegisteredFixedVersions(t *testing.T) {
	reg := registrytest.New()
	v1 := register(t, reg, "weir.test.Money", schema("syntax = \"proto3\"; package weir.test; message Other {} message Money { string currency = 1; int64 units = 2; }"))
	v2 := register(t, reg, "weir.test.Money", schema(moneyV2))
	at := serde.Binding{Topic: "m", Registry: reg, Writes: true}
	for id, c := range map[int]struct {
		opt  protobuf.Option
		want string
	}{v1: {protobuf.Version(1), "\x02\x02"}, v2: {protobuf.UseLatest(), "\x00"}} {
		s := bind(t, protobuf.Registered[*testpb.Money](c.opt, protobuf.Subject(registry.RecordName)), at)
		b, err := s.Append(nil, &testpb.Money{Units: 1})
		if got, rest, _ := serde.CutSchemaID(b); err != nil || got != id || !strings.HasPrefix(string(rest), c.want) {
			t.Errorf("version %d: got % x, %v", id, b, err)
		}
	}
	if reg.IDs() != 2 {
		t.Errorf("there are %d schemas, nothing was to be registered", reg.IDs())
	}
	for _, opts := range [][]protobuf.Option{{protobuf.UseLatest()}, {protobuf.Version(9), protobuf.Subject(registry.RecordName)}} {
		if _, err := serde.Bind(protobuf.Registered[*testpb.Money](opts...), at); !errors.Is(err, serde.ErrUnknownSchema) {
			t.Errorf("a subject or version that there is not: %v", err)
		}
	}
	narrow := register(t, reg, "narrow-value", schema("syntax = \"proto3\"; package weir.test; message Money { string currency = 1; int32 units = 2; }"))
	at.Topic = "narrow"
	if _, err := serde.Bind(protobuf.Registered[*testpb.Money](protobuf.UseLatest()), at); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("schema %d cannot hold what we write: %v", narrow, err)
	}
}

// Build reports what the registry objects to, and does not need it to be up.
func TestRegisteredPreflight(t *testing.T) {
	reg := registrytest.New()
	register(t, reg, "m-value", serde.Schema{Format: serde.FormatAvro, Text: `"string"`})
	if _, err := serde.Bind(protobuf.Registered[*testpb.Money](), serde.Binding{Topic: "m", Registry: reg, Writes: true}); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("another format in the subject: %v", err)
	}
	if _, err := serde.Bind(protobuf.Registered[*testpb.Money](), serde.Binding{Topic: "m"}); err == nil || !strings.Contains(err.Error(), "needs a registry") {
		t.Errorf("no registry: %v", err)
	}
	down := &outage{Registry: registrytest.New(), down: true}
	s := bind(t, protobuf.Registered[*testpb.Order](), serde.Binding{Topic: "o", Registry: down, Writes: true})
	if _, err := s.Append(nil, &testpb.Order{}); !errors.Is(err, serde.ErrRegistryUnavailable) {
		t.Errorf("written while the registry is down: %v", err)
	}
	if _, err := s.Decode([]byte{0, 0, 0, 0, 1, 0}); !errors.Is(err, serde.ErrRegistryUnavailable) {
		t.Errorf("read while the registry is down: %v", err)
	}
	down.down = false
	b, err := s.Append(nil, &testpb.Order{Id: 5})
	if err != nil {
		t.Fatalf("written when it is back: %v", err)
	}
	if v, err := s.Decode(b); err != nil || v.GetId() != 5 {
		t.Errorf("read when it is back: %v, %v", v, err)
	}
	down.down = true
	if v, err := s.Decode(b); err != nil || v.GetId() != 5 {
		t.Errorf("what was met before needs no registry: %v, %v", v, err)
	}
}

// outage is a registry that can be down.
type outage struct {
	serde.Registry
	down bool
}

func (o *outage) check() error {
	if o.down {
		return fmt.Errorf("no answer: %w", serde.ErrRegistryUnavailable)
	}
	return nil
}

func (o *outage) Schema(ctx context.Context, id int) (serde.Schema, error) {
	if err := o.check(); err != nil {
		return serde.Schema{}, err
	}
	return o.Registry.Schema(ctx, id)
}

func (o *outage) Register(ctx context.Context, subject string, s serde.Schema) (int, error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	return o.Registry.Register(ctx, subject, s)
}

func (o *outage) Version(ctx context.Context, subject string, version int) (int, serde.Schema, error) {
	if err := o.check(); err != nil {
		return 0, serde.Schema{}, err
	}
	return o.Registry.Version(ctx, subject, version)
}

func (o *outage) Compatible(ctx context.Context, subject string, s serde.Schema) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.Registry.Compatible(ctx, subject, s)
}

func TestRegisteredInternal(t *testing.T) {
	at := serde.Binding{Topic: "changelog", Internal: true}
	s := bind(t, protobuf.Registered[*testpb.Money](), at)
	b, err := s.Append(nil, &testpb.Money{Units: 1})
	if err != nil || string(b) != "\x10\x01" {
		t.Errorf("state is % x, %v, want the message alone", b, err)
	}
	if s.Format() != protobuf.Of[*testpb.Money]().Format() || s.Format() != protobuf.Registered[*testpb.Money]().Format() {
		t.Errorf("formats differ: %s", s.Format())
	}
	if _, err := serde.Bind(protobuf.Registered[serde.Row](), at); err == nil || !strings.Contains(err.Error(), "protobuf.Message") {
		t.Errorf("rows without a schema in state: %v", err)
	}
}

func TestRegisteredHeaders(t *testing.T) {
	reg := registrytest.New()
	s := bind(t, protobuf.Registered[*testpb.Other](), serde.Binding{Topic: "o", Registry: reg})
	b, err := s.Append(nil, &testpb.Other{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	h := s.(serde.HeaderDecoder[*testpb.Other])
	none := func(string) []byte { return nil }
	if v, err := h.DecodeHeaders(b, none); err != nil || v.GetName() != "n" {
		t.Errorf("without headers: %v, %v", v, err)
	}
	payload, _ := proto.Marshal(&testpb.Other{Name: "n"})
	header := func(name string) []byte {
		if name == "__value_schema_id" {
			return b[:len(b)-len(payload)]
		}
		return nil
	}
	if v, err := h.DecodeHeaders(payload, header); err != nil || v.GetName() != "n" {
		t.Errorf("id and indexes in a header: %v, %v", v, err)
	}
	if v, err := h.DecodeHeaders(payload, func(string) []byte { return b[:5] }); err == nil {
		t.Errorf("a header without indexes: %v", v)
	}
}

func TestRegisteredUnbound(t *testing.T) {
	s := protobuf.Registered[*testpb.Money]()
	if _, err := s.Append(nil, &testpb.Money{}); err == nil {
		t.Error("it writes without a topic")
	}
	if _, err := s.Decode(nil); err == nil {
		t.Error("it reads without a topic")
	}
}

func TestRegisteredAllocates(t *testing.T) {
	reg := registrytest.New()
	s := bind(t, protobuf.Registered[*testpb.Money](), serde.Binding{Topic: "m", Registry: reg})
	serdetest.NoAllocs(t, s, &testpb.Money{Currency: "EUR", Units: 5})
}

func FuzzRegistered(f *testing.F) {
	reg := registrytest.New()
	s := bind(f, protobuf.Registered[*testpb.Order](), serde.Binding{Topic: "orders", Registry: reg})
	serdetest.Fuzz(f, s, orders(f)...)
}

func BenchmarkRegistered(b *testing.B) {
	reg := registrytest.New()
	v := &testpb.Money{Currency: "EUR", Units: 5}
	for name, s := range map[string]serde.Serde[*testpb.Money]{"of": protobuf.Of[*testpb.Money](), "registered": bind(b, protobuf.Registered[*testpb.Money](), serde.Binding{Topic: "m", Registry: reg})} {
		bytes, err := s.Append(nil, v)
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 0, 64)
		b.Run(name+"/append", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Append(buf, v)
			}
		})
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Decode(bytes)
			}
		})
	}
}

func ExampleOf() {
	s := protobuf.Of[*testpb.Money]()
	b, _ := s.Append(nil, &testpb.Money{Currency: "EUR", Units: 5})
	m, err := s.Decode(b)
	fmt.Printf("%x %s %d %v\n", b, m.GetCurrency(), m.GetUnits(), err)
	// Output: 0a034555521005 EUR 5 <nil>
}

// The schema comes from source text; no code is generated.
func ExampleOf_row() {
	md, err := protobuf.Parse("Point", `syntax = "proto3"; message Point { sint32 x = 1; optional sint32 y = 2; }`, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := protobuf.Of[serde.Row](protobuf.Message(md))
	r, err := s.Decode([]byte{0x08, 0x03})
	fmt.Println(r, err)
	// Output: {x: -2, y: null} <nil>
}

// An app binds its serdes itself; here it is done by hand, with a registry in memory.
func ExampleRegistered() {
	s, err := serde.Bind(protobuf.Registered[*testpb.Money](), serde.Binding{Topic: "payments", Registry: registrytest.New()})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := s.Append(nil, &testpb.Money{Units: 5})
	m, err := s.Decode(b)
	fmt.Printf("%x %d %v\n", b, m.GetUnits(), err)
	// Output: 0000000001001005 5 <nil>
}
