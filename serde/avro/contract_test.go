package avro_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/avro/avrotest"
	"github.com/weirstream/weir/serde/avro/hamba"
	"github.com/weirstream/weir/serde/registry/registrytest"
	"github.com/weirstream/weir/serde/serdetest"
)

// The kit that every serde of weir passes.
func TestContract(t *testing.T) {
	orders := []Order{{}, {1, "ann", 1299}, {-1 << 63, "grüße", -1 << 31}}
	nested := avrotest.Values()[19].Go.(avrotest.Nested)
	nested.Counts = map[string]int64{"a": 1, "b": 2, "c": 3, "d": 4}
	hot := []avro.Option{avro.Using(hamba.New())}
	at := serde.Binding{Registry: registrytest.New()}
	t.Run("Of", func(t *testing.T) { serdetest.Run(t, avro.Of[Order](), orders...) })
	t.Run("Of with hamba", func(t *testing.T) { serdetest.Run(t, avro.Of[Order](hot...), orders...) })
	t.Run("Registered", func(t *testing.T) { serdetest.Run(t, bind(t, avro.Registered[Order](), at), orders...) })
	t.Run("state", func(t *testing.T) {
		serdetest.Run(t, bind(t, avro.Registered[Order](), serde.Binding{Internal: true}), orders...)
	})
	t.Run("nested", func(t *testing.T) {
		serdetest.Run(t, avro.Of[avrotest.Nested](avro.Schema(avrotest.Values()[19].Schema)), nested)
	})
	t.Run("nested with hamba", func(t *testing.T) {
		serdetest.Run(t, avro.Of[avrotest.Nested](avro.Schema(avrotest.Values()[19].Schema), hot[0]), nested)
	})
	typ, row := everything(t)
	rows := serdetest.Kit[serde.Row]{Serde: avro.Rows(typ), Samples: []serde.Row{row}, Equal: serde.Row.Equal}
	t.Run("rows", rows.Run)
}

func TestNoAllocsForScalars(t *testing.T) {
	serdetest.NoAllocs(t, avro.Of[int64](), 1, -1)
	serdetest.NoAllocs(t, avro.Of[time.Duration](), time.Second)
}

// Numbers out of range are errors, in both directions.
func TestNumbersOutOfRange(t *testing.T) {
	type small struct {
		N int8 `avro:"n"`
	}
	const schema = `{"type":"record","name":"R","fields":[{"name":"n","type":"int"}]}`
	wide := avro.Of[map[string]any](avro.Schema(schema))
	narrow := avro.Of[small](avro.Schema(schema))
	b, err := wide.Append(nil, map[string]any{"n": int32(300)})
	must(t, b, err)
	if v, err := narrow.Decode(b); err == nil {
		t.Errorf("300 was read into an int8 as %v", v)
	}
	for _, n := range []any{int64(1 << 40), 1.5, "x", nil} {
		if _, err := wide.Append(nil, map[string]any{"n": n}); err == nil {
			t.Errorf("%v was written as an int", n)
		}
	}
	type money struct {
		Price *big.Rat `avro:"price,decimal(4,2)"`
	}
	for _, r := range []*big.Rat{big.NewRat(100_00, 1), big.NewRat(1, 3)} {
		if _, err := avro.Of[money]().Append(nil, money{r}); err == nil {
			t.Errorf("%v was written as decimal(4,2)", r)
		}
	}
}

// A symbol that the reader does not know is an error where it has no default.
func TestUnknownEnumSymbol(t *testing.T) {
	writer := avro.Of[any](avro.Schema(`{"type":"enum","name":"E","symbols":["A","B"]}`))
	b, err := writer.Append(nil, "B")
	must(t, b, err)
	with := avro.Of[any](avro.Schema(`{"type":"enum","name":"E","symbols":["Z","A"],"default":"Z"}`))
	must(t, 0, serde.Accepts(with, writer.Format()))
	if v, err := with.Decode(b); must(t, v, err) != "Z" {
		t.Errorf("got %v", v)
	}
	without := avro.Of[any](avro.Schema(`{"type":"enum","name":"E","symbols":["Z","A"]}`))
	refused := serde.Accepts(without, writer.Format())
	if v, err := without.Decode(b); err == nil {
		t.Errorf("got %v after %v", v, refused)
	}
}
