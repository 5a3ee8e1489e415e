package raw_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/raw"
	"github.com/weirstream/weir/serde/serdetest"
)

func numbers[T raw.Scalar](t *testing.T, big string, v T, more ...T) {
	t.Helper()
	little := []byte(big)
	for i, j := 0, len(little)-1; i < j; i, j = i+1, j-1 {
		little[i], little[j] = little[j], little[i]
	}
	for e, want := range map[raw.Endian]string{raw.BigEndian: big, raw.LittleEndian: string(little)} {
		s := raw.Number[T](e)
		if b, err := s.Append(nil, v); err != nil || string(b) != want {
			t.Errorf("%s: %v is % x, %v, want % x", s.Format(), v, b, err, want)
		}
		t.Run(s.Format(), func(t *testing.T) {
			serdetest.Run(t, s, append(more, v, 0)...)
			serdetest.NoAllocs(t, s, v)
		})
	}
}

func TestNumber(t *testing.T) {
	numbers[int8](t, "\xff", -1, math.MinInt8)
	numbers[int16](t, "\xff\xfe", -2, math.MinInt16)
	numbers[int32](t, "\x01\x02\x03\x04", 0x01020304, math.MinInt32)
	numbers[int64](t, "\x01\x02\x03\x04\x05\x06\x07\x08", 0x0102030405060708, math.MinInt64)
	numbers[uint8](t, "\xff", 255)
	numbers[uint16](t, "\x01\x02", 0x0102, math.MaxUint16)
	numbers[uint32](t, "\xff\x02\x03\x04", 0xff020304)
	numbers[uint64](t, "\xff\x02\x03\x04\x05\x06\x07\x08", 0xff02030405060708)
	numbers[float32](t, "\x3f\xc0\x00\x00", 1.5, float32(math.Inf(1)))
	numbers[float64](t, "\xbf\xf8\x00\x00\x00\x00\x00\x00", -1.5, math.Inf(-1), math.NaN())
}

func TestNumberRefuses(t *testing.T) {
	for _, in := range []string{"", "\x01\x02\x03", "\x01\x02\x03\x04\x05"} {
		for _, e := range []raw.Endian{raw.BigEndian, raw.LittleEndian} {
			if v, err := raw.Number[int32](e).Decode([]byte(in)); err == nil {
				t.Errorf("% x reads as %d", in, v)
			}
		}
	}
}

func texts(t *testing.T, c raw.Charset, golden string, v string, more ...string) {
	t.Helper()
	s := raw.Text(c)
	if b, err := s.Append(nil, v); err != nil || string(b) != golden {
		t.Errorf("%v: %q is % x, %v, want % x", c, v, b, err, golden)
	}
	t.Run(c.String(), func(t *testing.T) {
		serdetest.Run(t, s, append(more, v, "")...)
		serdetest.NoAllocs(t, s, v)
	})
}

func TestText(t *testing.T) {
	texts(t, raw.UTF8, "é☂", "é☂", "\x00", "𝄞")
	texts(t, raw.ASCII, "abc\x7f", "abc\x7f")
	texts(t, raw.Latin1, "\xe9\x80\xff", "é\u0080ÿ")
	texts(t, raw.Windows1252, "\x80\xe9\x9f", "€éŸ", "‘’“”")
	texts(t, raw.UTF16BE, "\x00a\x26\x02\xd8\x34\xdd\x1e", "a☂𝄞", "\ufeffmark", "\uffff")
	texts(t, raw.UTF16LE, "a\x00\x02\x26\x34\xd8\x1e\xdd", "a☂𝄞")
	texts(t, raw.UTF16, "\xfe\xff\x00a", "a", "☂𝄞", "\ufeff")
}

// Every byte is a character or an error, and every character that is one comes back as its byte.
func TestSingleBytes(t *testing.T) {
	missing := map[raw.Charset]int{raw.ASCII: 128, raw.Latin1: 0, raw.Windows1252: 5}
	for c, want := range missing {
		got := 0
		for b := range 256 {
			in := []byte{byte(b)}
			v, err := raw.Text(c).Decode(in)
			if err != nil {
				got++
			} else if again, err := raw.Text(c).Append(nil, v); err != nil || !bytes.Equal(again, in) {
				t.Errorf("%v: byte %x is %q, and that is % x, %v", c, b, v, again, err)
			}
		}
		if got != want {
			t.Errorf("%v: %d bytes are no character, want %d", c, got, want)
		}
	}
}

func TestTextRefuses(t *testing.T) {
	for c, inputs := range map[raw.Charset][]string{
		raw.UTF8: {"\xff", "\xc0\x80", "\xed\xa0\x80"}, raw.ASCII: {"\x80"}, raw.Windows1252: {"\x81"},
		raw.UTF16BE: {"a", "\xd8\x00", "\xdc\x00", "\xd8\x00\x00a", "\xd8\x00\xd8\x00"}, raw.UTF16LE: {"abc", "\x00\xd8"}, raw.UTF16: {"\xfe\xff\x00", "\xff\xfe\x00\xd8"},
	} {
		for _, in := range inputs {
			if v, err := raw.Text(c).Decode([]byte(in)); err == nil {
				t.Errorf("%v: % x reads as %q", c, in, v)
			}
		}
	}
	for c, v := range map[raw.Charset]string{raw.UTF8: "\xff", raw.UTF16: "\xff", raw.ASCII: "é", raw.Latin1: "€", raw.Windows1252: "\u0080"} {
		if b, err := raw.Text(c).Append(nil, v); err == nil {
			t.Errorf("%v: %q is written as % x", c, v, b)
		}
	}
	if err := serde.Problem(raw.Text(99)); err == nil || !strings.Contains(err.Error(), "charset 99") {
		t.Errorf("problem is %v", err)
	}
}

func FuzzText(f *testing.F)   { serdetest.Fuzz(f, raw.Text(raw.UTF16), "a☂𝄞") }
func FuzzNumber(f *testing.F) { serdetest.Fuzz(f, raw.Number[int32](raw.LittleEndian), 1) }

// A topic that Kafka's LongSerializer wrote.
func ExampleNumber() {
	v, err := raw.Number[int64](raw.BigEndian).Decode([]byte{0, 0, 0, 0, 0, 0, 1, 0})
	fmt.Println(v, err)
	// Output: 256 <nil>
}

func ExampleText() {
	v, err := raw.Text(raw.Windows1252).Decode([]byte("caf\xe9 \x80 3"))
	fmt.Println(v, err)
	// Output: café € 3 <nil>
}
