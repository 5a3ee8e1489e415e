package serde_test

import (
	"encoding/json/v2"
	"testing"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/window"
)

func benchmark[T any](b *testing.B, name string, s serde.Serde[T], v T) {
	buf, err := s.Append(make([]byte, 0, 4096), v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run(name+"/append", func(b *testing.B) {
		b.ReportAllocs()
		dst := make([]byte, 0, 4096)
		for b.Loop() {
			if _, err := s.Append(dst, v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(name+"/decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Decode(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSerdes(b *testing.B) {
	benchmark(b, "String", serde.String, "a key of some length")
	benchmark(b, "Int64", serde.Int64, 42)
	benchmark(b, "Float64", serde.Float64, 42.5)
	benchmark(b, "Time", serde.Time, time.UnixMilli(1356998400000))
	benchmark(b, "ForInt", serde.For[int](), 42)
	benchmark(b, "ForUserID", serde.For[userID](), "a key of some length")
	benchmark(b, "Windowed", serde.Windowed(serde.String), window.Key[string]{Key: "a key of some length", Span: window.SpanMillis(0, 1)})
	benchmark(b, "WindowedInt", serde.Windowed(serde.Int64), window.Key[int64]{Key: 42, Span: window.SpanMillis(0, 1)})
	benchmark(b, "Rows", serde.Rows(scalars), scalarRows(b)[2])
}

// BenchmarkJSON measures JSON and what it is made of, side by side.
func BenchmarkJSON(b *testing.B) {
	type leg struct {
		From, To string
		Minutes  int
		Fare     float64
		Seats    []string
	}
	v := leg{"JFK", "LAX", 371, 199.5, []string{"12A", "12B"}}
	s := serde.JSON[leg]()
	text, err := s.Append(nil, v)
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, "weir", s, v)
	b.Run("bare/append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare/decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v leg
			if err := json.Unmarshal(text, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
