package avro_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

func TestSubjects(t *testing.T) {
	custom := func(topic, record string, key bool) (string, error) {
		return fmt.Sprintf("%s/%s/%v", topic, record, key), nil
	}
	for _, c := range []struct {
		strategy registry.Strategy
		key      bool
		want     string
	}{
		{nil, false, "orders-value"},
		{registry.TopicName, true, "orders-key"},
		{registry.RecordName, false, "shop.Order"},
		{registry.TopicRecordName, false, "orders-shop.Order"},
		{custom, true, "orders/shop.Order/true"},
	} {
		reg := registrytest.New()
		s := bind(t, avro.Registered[Order](avro.Name("shop.Order"), avro.Subject(c.strategy)), serde.Binding{Registry: reg, Key: c.key})
		_, err := s.Append(nil, Order{})
		must(t, 0, err)
		if got := reg.Subjects(); len(got) != 1 || got[0] != c.want {
			t.Errorf("subjects %v, want %s", got, c.want)
		}
	}
	s := bind(t, avro.Registered[string](avro.Subject(registry.RecordName)), serde.Binding{Registry: registrytest.New()})
	if _, err := s.Append(nil, ""); err == nil || !strings.Contains(err.Error(), "TopicName") {
		t.Errorf("a record name of a string: %v", err)
	}
}

func TestBuildReportsWhatTheRegistrySays(t *testing.T) {
	reg := registrytest.New()
	_, err := reg.Register(t.Context(), "orders-value", serde.Schema{Format: serde.FormatAvro, Text: `{"type":"record","name":"Order","fields":[]}`})
	must(t, 0, err)
	at := serde.Binding{Topic: "orders", Registry: registry.New(reg.Config()), Writes: true}
	_, err = serde.Bind(avro.Registered[Order](), at)
	if !errors.Is(err, serde.ErrIncompatible) || !strings.Contains(err.Error(), "orders") || !strings.Contains(err.Error(), "no default") {
		t.Errorf("got %v", err)
	}
	at.Writes = false // a source reads what is there
	if _, err := serde.Bind(avro.Registered[Order](), at); err != nil {
		t.Errorf("as a source: %v", err)
	}
}

// Going back to the version before: its schema does not fit the latest one, but it is there.
func TestBuildTakesASchemaThatIsThere(t *testing.T) {
	reg := registrytest.New()
	old, err := avro.SchemaOf[Order]()
	must(t, old, err)
	for _, text := range []string{old, `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}`} {
		_, err := reg.Register(t.Context(), "orders-value", serde.Schema{Format: serde.FormatAvro, Text: text})
		must(t, 0, err)
	}
	s := bind(t, avro.Registered[Order](), serde.Binding{Registry: registry.New(reg.Config()), Writes: true})
	b, err := s.Append(nil, Order{})
	if must(t, b, err); b[4] != 1 || reg.IDs() != 2 {
		t.Errorf("written with id %d of %d", b[4], reg.IDs())
	}
}

func TestBuildDoesNotWaitForTheRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registrytest.New()
		reg.SetFault(registrytest.Status(503))
		for _, opt := range []avro.Option{nil, avro.UseLatest(), avro.Version(3)} {
			s := bind(t, avro.Registered[Order](opt), serde.Binding{Registry: registry.New(reg.Config()), Writes: true})
			if _, err := s.Append(nil, Order{}); !errors.Is(err, serde.ErrRegistryUnavailable) {
				t.Errorf("writing: %v", err)
			}
		}
	})
}

func TestUseLatestAndVersion(t *testing.T) {
	reg := registrytest.New()
	const small = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}`
	const large = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"vat","type":"int","default":19}]}`
	for _, text := range []string{small, large} {
		_, err := reg.Register(t.Context(), "orders-value", serde.Schema{Format: serde.FormatAvro, Text: text})
		must(t, 0, err)
	}
	type taxed struct {
		ID  int64 `avro:"id"`
		VAT int32 `avro:"vat"`
	}
	at := serde.Binding{Registry: registry.New(reg.Config()), Writes: true, Topic: "orders"}
	latest := bind(t, avro.Registered[taxed](avro.Name("Order"), avro.UseLatest()), at)
	b, err := latest.Append(nil, taxed{1, 7})
	if must(t, b, err); b[4] != 2 || len(b) != 7 {
		t.Errorf("latest: % x", b)
	}
	first := bind(t, avro.Registered[taxed](avro.Name("Order"), avro.Version(1)), at)
	b, err = first.Append(nil, taxed{1, 7})
	if must(t, b, err); b[4] != 1 || len(b) != 6 {
		t.Errorf("version 1: % x", b)
	}
	if reg.IDs() != 2 {
		t.Error("something was registered")
	}
	if _, err := serde.Bind(avro.Registered[Order](avro.UseLatest()), at); !errors.Is(err, serde.ErrIncompatible) || !strings.Contains(err.Error(), "Order.vat") {
		t.Errorf("a type that lacks a field: %v", err)
	}
	at.Topic = "elsewhere"
	for _, opt := range []avro.Option{avro.UseLatest(), avro.Version(1)} {
		if _, err := serde.Bind(avro.Registered[taxed](opt), at); !errors.Is(err, serde.ErrUnknownSchema) {
			t.Errorf("a subject that does not exist: %v", err)
		}
	}
}

func TestReferencesAcrossSubjects(t *testing.T) {
	reg := registrytest.New()
	ctx := t.Context()
	_, err := reg.Register(ctx, "customer", serde.Schema{Format: serde.FormatAvro, Text: `{"type":"record","name":"shop.Customer","fields":[{"name":"name","type":"string"}]}`})
	must(t, 0, err)
	id, err := reg.Register(ctx, "orders-value", serde.Schema{Format: serde.FormatAvro,
		Text:       `{"type":"record","name":"shop.Order","fields":[{"name":"by","type":"Customer"},{"name":"for","type":["null","shop.Customer"],"default":null}]}`,
		References: []serde.Reference{{Name: "shop.Customer", Subject: "customer", Version: 1}}})
	must(t, id, err)
	type customer struct {
		Name string `avro:"name"`
	}
	type order struct {
		By  customer  `avro:"by"`
		For *customer `avro:"for"`
	}
	client := registry.New(reg.Config())
	writes := bind(t, avro.Registered[avro.Record](avro.UseLatest()), serde.Binding{Registry: client})
	reads := bind(t, avro.Registered[avro.Record](), serde.Binding{Registry: client})
	b := serde.AppendSchemaID(nil, id)
	b = append(b, "\x06ann\x02\x06bob"...)
	r, err := reads.Decode(b)
	must(t, r, err)
	if by, _ := r.Get("by"); fmt.Sprint(by) != "map[name:ann]" {
		t.Errorf("got %v", r.Fields())
	}
	_ = writes
	typed := bind(t, avro.Registered[order](avro.Schema(r.Type().String())), serde.Binding{Registry: client})
	o, err := typed.Decode(b)
	if must(t, o, err).By.Name != "ann" || o.For.Name != "bob" {
		t.Errorf("got %+v", o)
	}
}

func TestRecordsBringTheirSchemas(t *testing.T) {
	reg := registrytest.New()
	s := bind(t, avro.Registered[avro.Record](avro.Subject(registry.RecordName)), serde.Binding{Registry: reg})
	for range 2 {
		for i, name := range []string{"A", "B"} {
			typ, err := avro.Parse(`{"type":"record","name":"` + name + `","fields":[{"name":"n","type":"int"},{"name":"l","type":["null","string"],"default":null}]}`)
			must(t, typ, err)
			r, err := avro.NewRecord(typ, map[string]any{"n": int32(i)})
			must(t, r, err)
			got := roundTrip(t, s, r)
			if n, _ := got.Get("n"); n != int32(i) || got.Type().Name != name {
				t.Errorf("got %v %v", got.Type().Name, got.Fields())
			}
		}
	}
	if got := fmt.Sprint(reg.Subjects()); got != "[A B]" {
		t.Errorf("subjects %s", got)
	}
	// A map is written with the subject's schema, and read as it was written.
	m := bind(t, avro.Registered[map[string]any](avro.Schema(`{"type":"record","name":"A","fields":[{"name":"n","type":"int"}]}`)), serde.Binding{Registry: reg})
	if got := roundTrip(t, m, map[string]any{"n": int32(4)}); got["n"] != int32(4) || len(got) != 1 {
		t.Errorf("got %v", got)
	}
	without := bind(t, avro.Registered[map[string]any](), serde.Binding{Registry: reg})
	if _, err := without.Append(nil, map[string]any{}); err == nil || !strings.Contains(err.Error(), "avro.Schema") {
		t.Errorf("a map without a schema: %v", err)
	}
}

func TestHeadersNameTheSchema(t *testing.T) {
	reg := registrytest.New()
	client := registry.New(reg.Config())
	for _, key := range []bool{false, true} {
		s := bind(t, avro.Registered[Order](), serde.Binding{Registry: client, Key: key})
		b, err := s.Append(nil, Order{7, "ann", 1299})
		must(t, b, err)
		names := map[bool][2]string{false: {"__value_schema_id", "apicurio.value.contentId"}, true: {"__key_schema_id", "apicurio.key.contentId"}}[key]
		guid := fromHex(t, strings.ReplaceAll(reg.GUID(1), "-", ""))
		h := s.(serde.HeaderDecoder[Order])
		for name, c := range map[string]struct {
			headers map[string]string
			value   []byte
			ok      bool
		}{
			"no header":         {nil, b, true},
			"another header":    {map[string]string{"x": "y"}, b, true},
			"confluent":         {map[string]string{names[0]: string(b[:5])}, b[5:], true},
			"apicurio":          {map[string]string{names[1]: "\x00\x00\x00\x00" + string(b[1:5])}, b[5:], true},
			"the other's":       {map[string]string{"__other_schema_id": string(b[:5])}, b[5:], false},
			"confluent, short":  {map[string]string{names[0]: "\x00\x00"}, b[5:], false},
			"confluent, long":   {map[string]string{names[0]: string(b[:6])}, b[5:], false},
			"confluent, a GUID": {map[string]string{names[0]: "\x01" + string(guid)}, b[5:], true},
			"unknown GUID":      {map[string]string{names[0]: "\x01" + strings.Repeat("g", 16)}, b[5:], false},
			"a GUID and more":   {map[string]string{names[0]: "\x01" + string(guid) + "x"}, b[5:], false},
			"half a GUID":       {map[string]string{names[0]: "\x01" + string(guid[:8])}, b[5:], false},
			"apicurio, short":   {map[string]string{names[1]: "1"}, b[5:], false},
			"apicurio, huge":    {map[string]string{names[1]: "\xff\xff\xff\xff\xff\xff\xff\xff"}, b[5:], false},
		} {
			got, err := h.DecodeHeaders(c.value, func(name string) []byte {
				if v, ok := c.headers[name]; ok {
					return []byte(v)
				}
				return nil
			})
			if (err == nil) != c.ok || c.ok && got.ID != 7 {
				t.Errorf("%s (key %v): %+v, %v", name, key, got, err)
			}
		}
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	reg := registrytest.New()
	s := bind(t, avro.Registered[Order](), serde.Binding{Registry: registry.New(reg.Config())})
	b, err := s.Append(nil, Order{7, "ann", 1299})
	must(t, b, err)
	for n := range b {
		if _, err := s.Decode(b[:n]); err == nil || errors.Is(err, serde.ErrRegistryUnavailable) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := s.Decode(append(b[:len(b):len(b)], 0)); err == nil {
		t.Error("a byte more was read")
	}
	if n := reg.Requests(); n > 2 { // register, and srclient reads back what it registered
		t.Errorf("%d requests", n)
	}
}

func TestBadPrefixesAreDataErrors(t *testing.T) {
	reg := registrytest.New()
	client := registry.New(reg.Config())
	_, err := reg.Register(t.Context(), "p", serde.Schema{Format: serde.FormatProtobuf, Text: `syntax = "proto3"; message M {}`})
	must(t, 0, err)
	_, err = reg.Register(t.Context(), "q", serde.Schema{Format: serde.FormatAvro, Text: `"string"`})
	must(t, 0, err)
	s := bind(t, avro.Registered[Order](), serde.Binding{Registry: client})
	for range 100 {
		for name, c := range map[string]struct{ value, want string }{
			"magic":          {"\x01\x00\x00\x00\x01\x02", "0x01"},
			"unknown id":     {"\x00\x00\x00\x03\x09\x02", "unknown schema"},
			"negative id":    {"\x00\xff\xff\xff\xff\x02", "negative"},
			"another format": {"\x00\x00\x00\x00\x01\x02", "PROTOBUF"},
			"another type":   {"\x00\x00\x00\x00\x02\x02a", "id 2 cannot be read"},
		} {
			if _, err := s.Decode([]byte(c.value)); err == nil || errors.Is(err, serde.ErrRegistryUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if n := reg.Requests(); n != 3 {
		t.Errorf("%d requests for three ids", n)
	}
}

// The registry is down when a new id turns up. The serde says that it is an outage as long as it lasts, and reads the
// record then.
func TestAnOutageInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registrytest.New()
		writer := bind(t, avro.Registered[Order](), serde.Binding{Registry: reg})
		known, err := writer.Append(nil, Order{1, "a", 1})
		must(t, known, err)
		other := bind(t, avro.Registered[Order](avro.Name("Order"), avro.Subject(registry.RecordName)), serde.Binding{Registry: reg})
		_ = other
		fresh, err := bind(t, avro.Registered[orderV2](avro.Name("Order")), serde.Binding{Registry: reg, Topic: "new"}).Append(nil, orderV2{ID: 2, Client: "b"})
		must(t, fresh, err)
		s := bind(t, avro.Registered[orderV2](avro.Name("Order")), serde.Binding{Registry: registry.New(reg.Config())})
		_, err = s.Decode(known)
		must(t, 0, err)
		before := reg.Requests()
		reg.SetFault(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true })
		down := time.Now()
		for time.Since(down) < 5*time.Second {
			if _, err := s.Decode(fresh); !errors.Is(err, serde.ErrRegistryUnavailable) {
				t.Fatalf("during the outage: %v", err)
			}
			if _, err := s.Decode(known); err != nil {
				t.Fatalf("an id that is known: %v", err)
			}
		}
		if n := reg.Requests() - before; n > 10 {
			t.Errorf("%d requests during the outage", n)
		}
		reg.SetFault(nil)
		up := time.Now()
		got, err := s.Decode(fresh)
		for err != nil && time.Since(up) < 5*time.Second { // its turn to be asked comes within that
			got, err = s.Decode(fresh)
		}
		if must(t, got, err).Client != "b" {
			t.Errorf("afterwards: %+v", got)
		}
	})
}
