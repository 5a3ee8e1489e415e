package protobuf_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/protobuf"
	"github.com/weirstream/weir/serde/protobuf/testdata/testpb"
	"github.com/weirstream/weir/serde/serdetest"
)

// full is an order with every field set.
func full(t testing.TB) *testpb.Order {
	t.Helper()
	extra, err := structpb.NewStruct(map[string]any{"a": 1.5, "b": []any{nil, true, "x"}, "c": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	line := &testpb.Order_Line{Sku: "é", Count: math.MaxUint32, Price: &testpb.Money{Currency: "EUR", Units: -5}, Parts: []*testpb.Order_Line{{}, {Sku: "part"}}}
	return &testpb.Order{
		Id: math.MinInt64, Customer: "Ada", Lines: []*testpb.Order_Line{line, {}}, Tags: map[string]int32{"z": 1, "a": -1, "": 0},
		ByNumber: map[int64]*testpb.Order_Line{-1: line, math.MaxInt64: {}}, Status: testpb.Status_REFUNDED, Kind: testpb.Order_GIFT,
		Note: proto.String(""), Payment: &testpb.Order_Cash{Cash: &testpb.Money{}}, At: timestamppb.New(time.Date(2013, 1, 1, 5, 15, 0, 1, time.UTC)),
		Took: durationpb.New(time.Second), Discount: wrapperspb.Int32(0), Extra: extra, Gift: true, Score: math.Inf(-1), Weight: 0.1, Raw: []byte{0, 255},
		Serial: math.MaxUint64, Delta: math.MinInt32, BigDelta: math.MinInt64, F32: math.MaxUint32, F64: math.MaxUint64, Sf32: -1, Sf64: -1,
		Numbers: []int32{1, -1, math.MaxInt32}, Loose: []int64{0, -1}, Parent: &testpb.Order{Id: 1, Payment: &testpb.Order_Card{Card: "4111"}}, Int: 7,
		States: []testpb.Status{testpb.Status_PAID, testpb.Status_STATUS_UNKNOWN, 99},
	}
}

func orders(t testing.TB) []*testpb.Order { return []*testpb.Order{{}, full(t)} }

func equal[T proto.Message](a, b T) bool { return proto.Equal(a, b) }

func TestOfGenerated(t *testing.T) {
	serdetest.Kit[*testpb.Order]{Serde: protobuf.Of[*testpb.Order](), Samples: orders(t), Equal: equal[*testpb.Order]}.Run(t)
	serdetest.NoAllocs(t, protobuf.Of[*testpb.Money](), &testpb.Money{Currency: "EUR", Units: 5})
}

func FuzzOf(f *testing.F)   { serdetest.Fuzz(f, protobuf.Of[*testpb.Order](), orders(f)...) }
func FuzzRows(f *testing.F) { serdetest.Fuzz(f, rows(), orderRows(f)...) }

func orderDescriptor() protoreflect.MessageDescriptor {
	return (*testpb.Order)(nil).ProtoReflect().Descriptor()
}

func dynamicOrders(t testing.TB) []*dynamicpb.Message {
	var all []*dynamicpb.Message
	for _, o := range orders(t) {
		b, err := proto.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		m := dynamicpb.NewMessage(orderDescriptor())
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func TestOfDynamic(t *testing.T) {
	s := protobuf.Of[*dynamicpb.Message](protobuf.Message(orderDescriptor()))
	serdetest.Kit[*dynamicpb.Message]{Serde: s, Samples: dynamicOrders(t), Equal: equal[*dynamicpb.Message], AllocFactor: 2048}.Run(t)
}

func rows() serde.Serde[serde.Row] {
	return protobuf.Of[serde.Row](protobuf.Message(orderDescriptor()))
}

func orderRows(t testing.TB) []serde.Row {
	var all []serde.Row
	for _, m := range dynamicOrders(t) {
		r, err := protobuf.ToRow(m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestOfRows(t *testing.T) {
	serdetest.Kit[serde.Row]{Serde: rows(), Samples: orderRows(t), Equal: serde.Row.Equal, AllocFactor: 4096}.Run(t)
}

func TestOfProblems(t *testing.T) {
	problem(t, protobuf.Of[int](), "int is no message")
	problem(t, protobuf.Of[testpb.Money](), "testpb.Money is no message")
	problem(t, protobuf.Of[proto.Message](), "is no message")
	problem(t, protobuf.Of[serde.Row](), "give it by protobuf.Message")
	problem(t, protobuf.Of[*dynamicpb.Message](), "give it by protobuf.Message")
	problem(t, protobuf.Of[*testpb.Money](protobuf.Message(orderDescriptor())), "brings its own schema")
	problem(t, protobuf.Registered[string](), "string is no message")
	if err := serde.Problem(protobuf.Of[*testpb.Money]()); err != nil {
		t.Error(err)
	}
	if err := serde.Problem(serde.For[*testpb.Money]()); err == nil || !strings.Contains(err.Error(), "Protobuf message") {
		t.Errorf("serde.For of a message: %v", err)
	}
}

func problem[T any](t *testing.T, s serde.Serde[T], want string) {
	t.Helper()
	if err := serde.Problem(s); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("problem is %v, want %q", err, want)
	}
}

func TestNilAndRequired(t *testing.T) {
	if b, err := protobuf.Of[*testpb.Money]().Append(nil, nil); err == nil {
		t.Errorf("nil is % x", b)
	}
	if b, err := protobuf.Of[*testpb.Legacy]().Append([]byte("x"), &testpb.Legacy{}); err == nil {
		t.Errorf("a message without a required field is % x", b)
	}
	if m, err := protobuf.Of[*testpb.Legacy]().Decode(nil); err == nil {
		t.Errorf("no bytes are %v, which has a required field", m)
	}
}

func TestRecursionIsBounded(t *testing.T) {
	var b []byte
	for range 200_000 { // Order.parent around what there is so far, outermost last; lengths need not be right for a parser to go down
		b = append(b, 0xe2, 0x01, 0xff, 0xff, 0xff, 0xff, 0x07)
	}
	if _, err := protobuf.Of[*testpb.Order]().Decode(b); err == nil {
		t.Error("deep bytes decode")
	}
	m := &testpb.Order{}
	for range 20_000 {
		m = &testpb.Order{Parent: m}
	}
	deep, err := protobuf.Of[*testpb.Order]().Append(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := protobuf.Of[*testpb.Order]().Decode(deep); err == nil {
		t.Error("20,000 levels decode")
	}
	if _, err := rows().Decode(deep); err == nil {
		t.Error("20,000 levels decode as rows")
	}
}

func BenchmarkOf(b *testing.B) {
	s, v := protobuf.Of[*testpb.Order](), full(b)
	v.Tags, v.ByNumber, v.Extra = nil, nil, nil // maps are sorted, which the bare library does not do
	bytes, _ := s.Append(nil, v)
	buf := make([]byte, 0, len(bytes))
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Append(buf, v)
		}
	})
	b.Run("append/bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			proto.MarshalOptions{}.MarshalAppend(buf, v)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Decode(bytes)
		}
	})
	b.Run("decode/bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m := new(testpb.Order)
			proto.Unmarshal(bytes, m)
		}
	})
}
