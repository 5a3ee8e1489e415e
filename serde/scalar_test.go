package serde

import (
	"bytes"
	"math"
	"testing"
	"time"
)

// sorted checks that the encodings of values, given in ascending order, ascend too, and decode to what they were.
func sorted[T comparable](t *testing.T, s Serde[T], values ...T) {
	t.Helper()
	var last []byte
	for i, v := range values {
		b, err := s.Append(nil, v)
		if err != nil {
			t.Fatalf("%v: %v", v, err)
		}
		if i > 0 && bytes.Compare(last, b) >= 0 {
			t.Errorf("%s: % x of %v does not sort behind % x of %v", s.Format(), b, v, last, values[i-1])
		}
		if got, err := s.Decode(b); err != nil || got != v {
			t.Errorf("%s: %v decodes as %v, %v", s.Format(), v, got, err)
		}
		last = b
	}
}

func TestScalarsSort(t *testing.T) {
	sorted(t, Int32, math.MinInt32, -256, -1, 0, 1, 255, 256, math.MaxInt32)
	sorted(t, Int64, math.MinInt64, -1<<32, -1, 0, 1, 1<<32, math.MaxInt64)
	sorted(t, Uint64, 0, 1, 1<<63, math.MaxUint64)
	sorted(t, Float64, math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, math.MaxFloat64, math.Inf(1))
	sorted(t, String, "", "\x00", "a", "a\x00", "ab", "b", "\xff")
	sorted(t, Time, time.Time{}, time.UnixMilli(-1).UTC(), time.UnixMilli(0).UTC(), time.UnixMilli(1).UTC(), time.UnixMilli(math.MaxInt64/1000*999).UTC())
}

func TestScalarsGolden(t *testing.T) {
	golden(t, Int32, -1, []byte{0x7f, 0xff, 0xff, 0xff})
	golden(t, Int64, 1, []byte{0x80, 0, 0, 0, 0, 0, 0, 1})
	golden(t, Uint64, 1, []byte{0, 0, 0, 0, 0, 0, 0, 1})
	golden(t, Float64, 1, []byte{0xbf, 0xf0, 0, 0, 0, 0, 0, 0})
	golden(t, Float64, -1, []byte{0x40, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	golden(t, Bool, true, []byte{1})
	golden(t, Time, time.UnixMilli(1), []byte{0x80, 0, 0, 0, 0, 0, 0, 1})
	golden(t, String, "a\xff", []byte("a\xff"))
	golden(t, Bytes, []byte("a"), []byte("a"))
	golden(t, Unit, struct{}{}, nil)
}

func golden[T any](t *testing.T, s Serde[T], v T, want []byte) {
	t.Helper()
	if b, err := s.Append(nil, v); err != nil || !bytes.Equal(b, want) {
		t.Errorf("%s: %v is % x, %v, want % x", s.Format(), v, b, err, want)
	}
}

// Both zeros are one key, and so are all NaNs, or grouping by a float would depend on where it came from.
func TestFloatsOfOneKind(t *testing.T) {
	golden(t, Float64, math.Copysign(0, -1), []byte{0x80, 0, 0, 0, 0, 0, 0, 0})
	golden(t, Float64, 0, []byte{0x80, 0, 0, 0, 0, 0, 0, 0})
	want, _ := Float64.Append(nil, math.NaN())
	for _, bits := range []uint64{0x7ff0000000000001, 0xfff8000000000000, math.MaxUint64} {
		golden(t, Float64, math.Float64frombits(bits), want)
	}
	if inf, _ := Float64.Append(nil, math.Inf(1)); bytes.Compare(inf, want) >= 0 {
		t.Error("NaN does not sort last")
	}
	if got, err := Float64.Decode(want); err != nil || got == got {
		t.Errorf("NaN decodes as %v, %v", got, err)
	}
}

func TestTimeOutOfRange(t *testing.T) {
	for _, v := range []time.Time{time.Unix(math.MaxInt64/1000, 0), time.Unix(math.MinInt64/1000, 0), time.Unix(1<<62, 0)} {
		if b, err := Time.Append(nil, v); err == nil {
			t.Errorf("year %d encodes as % x", v.Year(), b)
		}
	}
}

func TestScalarsRefuse(t *testing.T) {
	refuses(t, Bool, "", "\x02", "\x00\x00")
	refuses(t, Int32, "", "\x00\x00\x00", "\x00\x00\x00\x00\x00")
	refuses(t, Int64, "", "1234567", "123456789")
	refuses(t, Uint64, "", "1234567", "123456789")
	refuses(t, Float64, "", "1234567", "123456789")
	refuses(t, Time, "", "1234567", "123456789")
}

func refuses[T any](t *testing.T, s Serde[T], inputs ...string) {
	t.Helper()
	for _, b := range inputs {
		if v, err := s.Decode([]byte(b)); err == nil {
			t.Errorf("%s: %q decodes as %v", s.Format(), b, v)
		}
	}
}
