package serde_test

import (
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/serdetest"
	"github.com/weirstream/weir/window"
)

type order struct {
	ID    int64             `json:"id"`
	Note  *string           `json:"note"`
	Lines []line            `json:"lines"`
	Tags  map[string]string `json:"tags"`
	At    time.Time         `json:"at"`
	Wait  time.Duration     `json:"wait"`
}

type line struct {
	SKU   string
	Price float64
	Raw   []byte
}

func orders() []order {
	note := "gift ☂"
	at := time.Date(2013, 1, 1, 5, 15, 0, 123, time.UTC)
	return []order{
		{},
		{ID: math.MinInt64, Note: &note, Lines: []line{}, Tags: map[string]string{}, At: at},
		{ID: math.MaxInt64, Lines: []line{{"a", 0.1, nil}, {"", -1e300, []byte{0, 255}}}, Tags: map[string]string{"z": "1", "a": "\"", "": ""}, At: at, Wait: time.Hour},
	}
}

func spans() []window.Span {
	return []window.Span{window.SpanMillis(math.MinInt64, 0), window.SpanMillis(-1, 1), window.SpanMillis(0, 0), window.SpanMillis(0, 1), window.SpanMillis(1, math.MaxInt64)}
}

// windowedKeys returns the keys, each in every span, in order.
func windowedKeys[K any](keys ...K) []window.Key[K] {
	var all []window.Key[K]
	for _, k := range keys {
		for _, s := range spans() {
			all = append(all, window.Key[K]{Key: k, Span: s})
		}
	}
	return all
}

func TestKit(t *testing.T) {
	t.Run("String", func(t *testing.T) { serdetest.Run(t, serde.String, "", "a", "a\x00", "ab", "é", "\xff") })
	t.Run("Bytes", func(t *testing.T) { serdetest.Run(t, serde.Bytes, []byte{}, []byte("a"), []byte{0xff, 0}) })
	t.Run("Bool", func(t *testing.T) { serdetest.Run(t, serde.Bool, false, true) })
	t.Run("Int32", func(t *testing.T) { serdetest.Run(t, serde.Int32, math.MinInt32, -1, 0, 1, math.MaxInt32) })
	t.Run("Int64", func(t *testing.T) { serdetest.Run(t, serde.Int64, math.MinInt64, -1, 0, 1, math.MaxInt64) })
	t.Run("Uint64", func(t *testing.T) { serdetest.Run(t, serde.Uint64, 0, 1, math.MaxUint64) })
	t.Run("Float64", func(t *testing.T) {
		serdetest.Run(t, serde.Float64, math.Inf(-1), -1, 0, math.SmallestNonzeroFloat64, 1, math.Inf(1), math.NaN())
	})
	t.Run("Time", func(t *testing.T) {
		serdetest.Run(t, serde.Time, time.Time{}, time.UnixMilli(0), time.UnixMilli(1356998400000))
	})
	t.Run("Unit", func(t *testing.T) { serdetest.Run(t, serde.Unit, struct{}{}) })
	t.Run("JSON", func(t *testing.T) { serdetest.Run(t, serde.JSON[order](), orders()...) })
	t.Run("Optional", func(t *testing.T) {
		one := int64(1)
		serdetest.Run(t, serde.Optional(serde.Int64), nil, &one)
	})
	t.Run("OptionalInState", func(t *testing.T) {
		one := int64(1)
		serdetest.Run(t, bound(t, serde.Optional(serde.Int64), serde.Binding{Internal: true}), nil, &one)
	})
	t.Run("New", func(t *testing.T) {
		serdetest.Run(t, serde.New("big/1",
			func(dst []byte, v *big.Int) ([]byte, error) { return append(dst, v.String()...), nil },
			func(b []byte) (*big.Int, error) { v := new(big.Int); return v, v.UnmarshalText(b) }), big.NewInt(0), big.NewInt(-5))
	})
}

func TestKitWindowed(t *testing.T) {
	t.Run("String", func(t *testing.T) {
		serdetest.Run(t, serde.Windowed(serde.String), windowedKeys("", "\x00", "\x00\x00", "a", "a\x00", "a\x00\x01", "a\x00\xff", "a\x01", "ab", "b\x00\x00c", "\xff")...)
	})
	t.Run("Int64", func(t *testing.T) {
		serdetest.Run(t, serde.Windowed(serde.Int64), windowedKeys[int64](math.MinInt64, -1, 0, 1, math.MaxInt64)...)
	})
	t.Run("Unit", func(t *testing.T) { serdetest.Run(t, serde.Windowed(serde.Unit), windowedKeys(struct{}{})...) })
	t.Run("JSON", func(t *testing.T) {
		serdetest.Run(t, serde.Windowed(serde.JSON[line]()), windowedKeys(line{}, line{SKU: "a"})...)
	})
	t.Run("Windowed", func(t *testing.T) {
		serdetest.Run(t, serde.Windowed(serde.Windowed(serde.String)), windowedKeys(windowedKeys("", "\x00", "a", "ab")...)...)
	})
	t.Run("WindowedInt", func(t *testing.T) {
		serdetest.Run(t, serde.Windowed(serde.Windowed(serde.For[int]())), windowedKeys(windowedKeys(-1, 0, 1)...)...)
	})
}

type (
	userID  string
	level   int8
	flags   uint32
	ratio   float32
	enabled bool
	celsius float64
	serial  int32
)

func TestKitFor(t *testing.T) {
	t.Run("int", func(t *testing.T) { serdetest.Run(t, serde.For[int](), math.MinInt, -1, 0, math.MaxInt) })
	t.Run("int16", func(t *testing.T) { serdetest.Run(t, serde.For[int16](), math.MinInt16, -1, 0, math.MaxInt16) })
	t.Run("level", func(t *testing.T) { serdetest.Run(t, serde.For[level](), -128, -1, 0, 127) })
	t.Run("serial", func(t *testing.T) { serdetest.Run(t, serde.For[serial](), math.MinInt32, 0, math.MaxInt32) })
	t.Run("uint", func(t *testing.T) { serdetest.Run(t, serde.For[uint](), 0, 1, math.MaxUint) })
	t.Run("uint8", func(t *testing.T) { serdetest.Run(t, serde.For[uint8](), 0, 255) })
	t.Run("uint16", func(t *testing.T) { serdetest.Run(t, serde.For[uint16](), 0, math.MaxUint16) })
	t.Run("flags", func(t *testing.T) { serdetest.Run(t, serde.For[flags](), 0, math.MaxUint32) })
	t.Run("ratio", func(t *testing.T) {
		serdetest.Run(t, serde.For[ratio](), -math.MaxFloat32, -0.5, 0, 0.1, math.MaxFloat32)
	})
	t.Run("celsius", func(t *testing.T) { serdetest.Run(t, serde.For[celsius](), -273.15, 0, 37) })
	t.Run("enabled", func(t *testing.T) { serdetest.Run(t, serde.For[enabled](), false, true) })
	t.Run("userID", func(t *testing.T) { serdetest.Run(t, serde.For[userID](), "", "a", "b") })
	t.Run("struct", func(t *testing.T) { serdetest.Run(t, serde.For[order](), orders()...) })
	t.Run("binary", func(t *testing.T) {
		serdetest.Run(t, serde.For[netip.AddrPort](), netip.MustParseAddrPort("[::1]:9092"))
	})
	t.Run("pointer to binary", func(t *testing.T) {
		a := netip.MustParseAddr("10.0.0.1")
		serdetest.Run(t, serde.For[*netip.Addr](), &a)
	})
}

func bound[T any](t *testing.T, s serde.Serde[T], at serde.Binding) serde.Serde[T] {
	t.Helper()
	b, err := serde.Bind(s, at)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNoAllocs(t *testing.T) {
	serdetest.NoAllocs(t, serde.String, "", "some text")
	serdetest.NoAllocs(t, serde.Bytes, []byte("some bytes"))
	serdetest.NoAllocs(t, serde.Bool, true)
	serdetest.NoAllocs(t, serde.Int32, 1)
	serdetest.NoAllocs(t, serde.Int64, 1)
	serdetest.NoAllocs(t, serde.Uint64, 1)
	serdetest.NoAllocs(t, serde.Float64, 1.5)
	serdetest.NoAllocs(t, serde.Time, time.UnixMilli(1))
	serdetest.NoAllocs(t, serde.Unit, struct{}{})
	serdetest.NoAllocs(t, serde.For[int](), 5)
	serdetest.NoAllocs(t, serde.For[userID](), "u-17")
	serdetest.NoAllocs(t, serde.Windowed(serde.String), windowedKeys("a", "a\x00b")...)
	serdetest.NoAllocs(t, serde.JSON[line](), line{SKU: "abc", Price: 1.25})
}

func FuzzString(f *testing.F)  { serdetest.Fuzz(f, serde.String, "", "é") }
func FuzzFloat64(f *testing.F) { serdetest.Fuzz(f, serde.Float64, 0, math.NaN()) }
func FuzzTime(f *testing.F)    { serdetest.Fuzz(f, serde.Time, time.UnixMilli(0)) }
func FuzzJSON(f *testing.F)    { serdetest.Fuzz(f, serde.JSON[order](), orders()...) }
func FuzzWindowed(f *testing.F) {
	serdetest.Fuzz(f, serde.Windowed(serde.String), windowedKeys("", "a\x00b")...)
}
