package avro_test

import (
	"context"
	"testing"

	ha "github.com/hamba/avro/v2"
	tw "github.com/twmb/avro"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/avro/hamba"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// trade is the record of twelve fields.
type trade struct {
	ID       int64    `avro:"id"`
	Account  int64    `avro:"account"`
	Symbol   string   `avro:"symbol"`
	Venue    string   `avro:"venue"`
	Currency string   `avro:"currency"`
	Buy      bool     `avro:"buy"`
	Quantity int32    `avro:"quantity"`
	Filled   int32    `avro:"filled"`
	Price    float64  `avro:"price"`
	Fee      float64  `avro:"fee"`
	Note     *string  `avro:"note"`
	Tags     []string `avro:"tags"`
}

func someTrade() trade {
	return trade{1234567, 42, "ACME", "XETRA", "EUR", true, 100, 60, 123.45, 0.5, nil, []string{"algo", "day"}}
}

// boundTrade is the serde at its topic, ready.
func boundTrade(b testing.TB, opts ...avro.Option) serde.Serde[trade] {
	s := bind(b, avro.Registered[trade](opts...), serde.Binding{Registry: registry.New(registrytest.New().Config())})
	must(b, 0, second(s.Append(nil, someTrade())))
	return s
}

func second(_ []byte, err error) error { return err }

func BenchmarkEncode(b *testing.B) {
	v := someTrade()
	text, err := avro.SchemaOf[trade]()
	must(b, text, err)
	b.Run("bare twmb", func(b *testing.B) {
		s := tw.MustParse(text)
		buf := make([]byte, 0, 256)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.AppendEncode(buf[:0], &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	// What a value that was handed over costs, as an operator hands it: it has to live somewhere.
	b.Run("bare twmb by value", func(b *testing.B) {
		s := tw.MustParse(text)
		buf := make([]byte, 0, 256)
		encode := func(v trade) ([]byte, error) { return s.AppendEncode(buf[:0], &v) }
		b.ReportAllocs()
		for b.Loop() {
			if _, err := encode(v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare hamba", func(b *testing.B) {
		s := ha.MustParse(text)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ha.Marshal(s, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, s := range map[string]serde.Serde[trade]{"Of": avro.Of[trade](), "Registered": boundTrade(b), "Registered hamba": boundTrade(b, avro.Using(hamba.New()))} {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Append(buf[:0], v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	v := someTrade()
	text, err := avro.SchemaOf[trade]()
	must(b, text, err)
	bare := tw.MustParse(text)
	enc, err := bare.Encode(&v)
	must(b, enc, err)
	b.Run("bare twmb", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var got trade
			if _, err := bare.Decode(enc, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare hamba", func(b *testing.B) {
		s := ha.MustParse(text)
		b.ReportAllocs()
		for b.Loop() {
			var got trade
			if err := ha.Unmarshal(s, enc, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, s := range map[string]serde.Serde[trade]{"Of": avro.Of[trade](), "Registered": boundTrade(b), "Registered hamba": boundTrade(b, avro.Using(hamba.New()))} {
		b.Run(name, func(b *testing.B) {
			enc, err := s.Append(nil, v)
			must(b, enc, err)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Decode(enc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What the wire format and the look-up of the id cost: the smallest value with and without.
func BenchmarkWireFormat(b *testing.B) {
	reg := registry.New(registrytest.New().Config())
	with := bind(b, avro.Registered[int64](), serde.Binding{Registry: reg})
	enc, err := with.Append(nil, 1)
	must(b, enc, err)
	bare := tw.MustParse(`"long"`)
	buf := make([]byte, 0, 32)
	b.Run("encode bare", func(b *testing.B) {
		var v int64 = 1
		for b.Loop() {
			bare.AppendEncode(buf[:0], &v)
		}
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			with.Append(buf[:0], 1)
		}
	})
	b.Run("decode bare", func(b *testing.B) {
		var v int64
		for b.Loop() {
			bare.Decode(enc[5:], &v)
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			with.Decode(enc)
		}
	})
	b.Run("registry id", func(b *testing.B) {
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			reg.Schema(ctx, 1)
		}
	})
}

func TestEncodingAllocatesNothing(t *testing.T) {
	v := someTrade()
	buf := make([]byte, 0, 256)
	for name, s := range map[string]serde.Serde[trade]{"Of": avro.Of[trade](), "Registered": boundTrade(t)} {
		if n := testing.AllocsPerRun(100, func() { s.Append(buf[:0], v) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
