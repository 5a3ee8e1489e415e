package protobuf_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/protobuf"
	"github.com/weirstream/weir/serde/protobuf/testdata/testpb"
)

func TestRowType(t *testing.T) {
	typ, err := protobuf.RowType(orderDescriptor())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"id": "int64", "customer": "string", "status": "string", "note": "string?", "card": "string?", "gift": "boolean", "score": "float64", "weight": "float32",
		"raw": "bytes", "serial": "uint64", "delta": "int32", "f32": "int64", "f64": "uint64", "sf64": "int64", "numbers": "array<int32>", "states": "array<string>",
		"tags": "map<int32>", "at": "timestamp?", "discount": "int32?", "took": "row google.protobuf.Duration<seconds int64, nanos int32>?",
		"cash":  "row weir.test.Money<currency string, units int64>?",
		"lines": "array<row weir.test.Order.Line<sku string, count int64, price row weir.test.Money<currency string, units int64>?, parts array<row weir.test.Order.Line>>>",
	} {
		if got := typ.Field(typ.Index(name)).Type.String(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	legacy, err := protobuf.RowType((*testpb.Legacy)(nil).ProtoReflect().Descriptor())
	if err != nil || legacy.String() != "row weir.test.Legacy<name string, count int32?, text string?, ratio float64?, on boolean?, raw bytes?, level string?, list array<int32>>" {
		t.Errorf("a proto2 message is %v, %v", legacy, err)
	}
	if _, err := protobuf.RowType((*structpb.Value)(nil).ProtoReflect().Descriptor()); err != nil {
		t.Errorf("messages that contain each other: %v", err)
	}
	entry := orderDescriptor().Fields().ByName("tags").Message()
	if _, err := protobuf.RowType(entry); err == nil {
		t.Error("the entry of a map is a row")
	}
}

func TestToRowValues(t *testing.T) {
	r, err := protobuf.ToRow(full(t).ProtoReflect())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"status": "REFUNDED", "note": "", "card": nil, "at": time.Date(2013, 1, 1, 5, 15, 0, 1, time.UTC), "discount": int32(0), "f32": int64(math.MaxUint32), "serial": uint64(math.MaxUint64),
	} {
		if got, ok := r.Get(name); !ok || got != want {
			t.Errorf("%s is %v (%T), want %v", name, got, got, want)
		}
	}
	states, _ := r.Value[[]any]("states")
	if len(states) != 3 || states[0] != "PAID" || states[2] != "99" {
		t.Errorf("enums are %v", states)
	}
	byNumber, _ := r.Value[map[string]any]("by_number")
	if len(byNumber) != 2 || byNumber["-1"].(serde.Row).At(0) != "é" {
		t.Errorf("a map is %v", byNumber)
	}
	empty, err := protobuf.ToRow((&testpb.Order{}).ProtoReflect())
	if v, _ := empty.Get("note"); err != nil || v != nil {
		t.Errorf("an unset optional field is %v, %v", v, err)
	}
	if v, _ := empty.Get("customer"); v != "" {
		t.Errorf("an unset plain field is %v", v)
	}
	if _, err := protobuf.ToRow((&testpb.Order{At: &timestamppb.Timestamp{Seconds: math.MaxInt64}}).ProtoReflect()); err == nil || !strings.Contains(err.Error(), "at: ") {
		t.Errorf("a time out of range: %v", err)
	}
	if _, err := protobuf.ToRow((&testpb.Order{At: &timestamppb.Timestamp{Nanos: -1}}).ProtoReflect()); err == nil {
		t.Error("negative nanoseconds are a time")
	}
	if _, err := protobuf.ToRow((&testpb.Legacy{Name: proto.String("\xff")}).ProtoReflect()); err == nil {
		t.Error("proto2 text that is not UTF-8 is a string")
	}
}

// fromRow makes an order of one field.
func fromRow(md protoreflect.MessageDescriptor, fields ...any) (protoreflect.Message, error) {
	var types []serde.Field
	var values []any
	for i := 0; i < len(fields); i += 2 {
		types = append(types, serde.Field{Name: fields[i].(string)}) // FromRow goes by names and values
		values = append(values, fields[i+1])
	}
	return protobuf.FromRow(serde.MakeRow(serde.RowType("", types...), values), md)
}

func TestFromRowConverts(t *testing.T) {
	for name, v := range map[string]any{"id": int32(5), "f32": int64(5), "serial": int32(5), "sf32": uint64(5), "score": float32(5), "discount": int64(5), "unknown": nil} {
		if name != "unknown" {
			name, v := name, v
			m, err := fromRow(orderDescriptor(), name, v)
			if err != nil || !m.Has(orderDescriptor().Fields().ByName(protoreflect.Name(name))) {
				t.Errorf("%s of %T: %v, %v", name, v, m, err)
			}
			continue
		}
		if _, err := fromRow(orderDescriptor(), name, v); err != nil {
			t.Errorf("null for a field that the message has not: %v", err)
		}
	}
	m, err := fromRow(orderDescriptor(), "status", "7")
	if err != nil || m.Get(orderDescriptor().Fields().ByName("status")).Enum() != 7 {
		t.Errorf("an enum by its number: %v, %v", m, err)
	}
}

func TestFromRowRefuses(t *testing.T) {
	other := serde.MakeRow(serde.RowType("", serde.Field{Name: "zzz"}), []any{int32(1)})
	for want, fields := range map[string][]any{
		"unknown: weir.test.Order has no such field":        {"unknown", int32(1)},
		"cash: card is set too":                             {"card", "4111", "cash", serde.MakeRow(serde.RowType(""), nil)},
		"sf32: 2147483648 is out of range":                  {"sf32", int64(1 << 31)},
		"f32: -1 is out of range":                           {"f32", int32(-1)},
		"id: 18446744073709551615 is out of range":          {"id", uint64(math.MaxUint64)},
		"serial: -1 is out of range":                        {"serial", int64(-1)},
		"weight: a Go float64":                              {"weight", 1.5},
		"customer: a Go []uint8":                            {"customer", []byte("x")},
		"gift: a Go string":                                 {"gift", "true"},
		"status: enum weir.test.Status has no value":        {"status", "GONE"},
		"status: a Go int32":                                {"status", int32(1)},
		"numbers: a Go int32 is no repeated field":          {"numbers", int32(1)},
		"numbers[1]: a Go string":                           {"numbers", []any{int32(1), "2"}},
		"lines[0]: a Go string":                             {"lines", []any{"x"}},
		"lines[0].zzz: weir.test.Order.Line has no such":    {"lines", []any{other}},
		"tags: a Go []interface {} is no map":               {"tags", []any{}},
		`tags["k"]: a Go string`:                            {"tags", map[string]any{"k": "v"}},
		`by_number: key of a map: serde: "x" is no int64`:   {"by_number", map[string]any{"x": other}},
		"at: year 10000 is out of range":                    {"at", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"took: a Go time.Time is no google.protobuf.Durati": {"took", time.Now()},
		"discount: a Go string":                             {"discount", "1"},
	} {
		if m, err := fromRow(orderDescriptor(), fields...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want %q", m, err, want)
		}
	}
	var deep any
	typ := serde.RowType("", serde.Field{Name: "parent"})
	for range 1000 {
		deep = serde.MakeRow(typ, []any{deep})
	}
	if _, err := protobuf.FromRow(deep.(serde.Row), orderDescriptor()); err == nil || !strings.Contains(err.Error(), "deeper than 500") {
		t.Errorf("1000 levels: %.80v", err)
	}
}
