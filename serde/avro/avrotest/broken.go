package avrotest

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/serde/avro"
)

// A Broken value is bytes that are not what the schema says.
type Broken struct {
	Name, Schema, Hex string

	// Whole says that a reader which does not look at what lies still finds a whole value.
	Whole bool
}

// Hostile are the cases that have hurt decoders. Counts and lengths are zig-zag: fe…01 is 2^63−1, ff…01 is −2^63.
func Hostile() []Broken {
	const (
		maxLong = "feffffffffffffffff01"
		minLong = "ffffffffffffffffff01"
		huge    = "8080808010" // 2^31
		strs    = `{"type":"array","items":"string"}`
		nulls   = `{"type":"array","items":"null"}`
		list    = `{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}`
		empties = `{"type":"array","items":{"type":"record","name":"E","fields":[]}}`
	)
	return []Broken{
		{"an array of 2^63-1", strs, maxLong, false},
		{"an array of -2^63", strs, minLong + "02", false},
		{"an array of 2^31", strs, huge, false},
		{"a map of 2^63-1", `{"type":"map","values":"int"}`, maxLong, false},
		{"a map of 2^31", `{"type":"map","values":"null"}`, huge + "00", false},
		{"an array of 2^31 nulls", nulls, huge + "00", false},
		{"an array of 2^63-1 nulls", nulls, maxLong + "00", false},
		{"an array of 2^31 empty records", empties, huge + "00", false},
		{"a block of negative size", strs, "01" + "01" + "00", false},
		{"a block size past the end", strs, "01" + maxLong + "0000", true},
		{"nulls block by block", nulls, strings.Repeat("c07e", 5000) + "00", false},
		{"a string of 2^63-1", `"string"`, maxLong, false},
		{"a string of -1", `"string"`, "01", false},
		{"bytes of -2^63", `"bytes"`, minLong, false},
		{"bytes of 2^31", `"bytes"`, huge + "00", false},
		{"a varint without end", `"long"`, strings.Repeat("ff", 11), false},
		{"an int of 33 bits", `"int"`, "ffffffff1f", false},
		{"a long of 65 bits", `"long"`, "ffffffffffffffffff03", false},
		{"a union branch too high", `["null","int"]`, "04", false},
		{"a union branch below zero", `["null","int"]`, "01", false},
		{"an enum symbol too high", `{"type":"enum","name":"E","symbols":["A"]}`, "02", false},
		{"an enum symbol below zero", `{"type":"enum","name":"E","symbols":["A"]}`, "01", false},
		{"records ten thousand deep", list, strings.Repeat("02", 10_000) + "00", false},
	}
}

// maxTime is how long one small hostile value may take: far more than it needs, far less than a loop over a claimed count.
const maxTime = 5 * time.Second

func broken(t *testing.T, c avro.Codec) {
	for _, h := range Hostile() {
		t.Run(h.Name, func(t *testing.T) {
			b, err := hex.DecodeString(h.Hex)
			if err != nil {
				t.Fatal(err)
			}
			if h.Whole {
				decodeInTime(t, c, h.Schema, reflect.TypeFor[any](), b)
				return
			}
			mustFail(t, c, h.Schema, reflect.TypeFor[any](), b)
		})
	}
	for _, v := range Values() {
		t.Run("truncated "+v.Name, func(t *testing.T) {
			as := reflect.TypeOf(v.Go)
			b := Encode(t, c, v.Schema, as, v.Go)
			for n := range len(b) {
				mustFail(t, c, v.Schema, as, b[:n])
			}
		})
	}
	t.Run("NaN", func(t *testing.T) {
		b := Encode(t, c, `"double"`, reflect.TypeFor[float64](), math.NaN())
		decode, err := c.Decoder(`"double"`, `"double"`, reflect.TypeFor[float64]())
		if err != nil {
			t.Fatal(err)
		}
		var got float64
		if _, err := decode(b, &got); err != nil || !math.IsNaN(got) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// mustFail decodes bytes that are no value.
func mustFail(t *testing.T, c avro.Codec, schema string, as reflect.Type, b []byte) {
	t.Helper()
	if got, ok := decodeInTime(t, c, schema, as, b); ok {
		t.Errorf("% x was decoded to %#v", b[:min(len(b), 40)], got)
	}
}

// decodeInTime decodes, and reports whether all of b was a value.
func decodeInTime(t *testing.T, c avro.Codec, schema string, as reflect.Type, b []byte) (any, bool) {
	t.Helper()
	decode, err := c.Decoder(schema, schema, as)
	if err != nil {
		t.Fatal(err)
	}
	got := reflect.New(as)
	began := time.Now()
	rest, err := decode(b, got.Interface())
	if took := time.Since(began); took > maxTime {
		t.Errorf("% x took %v", b[:min(len(b), 40)], took)
	}
	return got.Elem().Interface(), err == nil && len(rest) == 0
}
