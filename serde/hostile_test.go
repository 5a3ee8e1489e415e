package serde_test

import (
	"math"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
)

type branch struct {
	Name string    `json:"name"`
	Size int8      `json:"size"`
	Kids []*branch `json:"kids"`
}

func TestJSONRefuses(t *testing.T) {
	s := serde.JSON[branch]()
	for in, want := range map[string]string{
		``:                                     "EOF",
		`{"name":"a"`:                          "EOF",
		`{"name":"a"} {}`:                      "after top-level value",
		`{"name":"a","name":"b"}`:              "duplicate",
		`{"name":"a","n\u0061me":"b"}`:         "duplicate",
		`{"x":{"y":1,"y":2}}`:                  "duplicate",
		"{\"name\":\"\xff\"}":                  "UTF-8",
		`{"name":"\ud800"}`:                    "surrogate",
		`{"size":128}`:                         "out of range",
		`{"size":1e99999999}`:                  "unmarshal JSON",
		`{"size":1.5}`:                         "unmarshal JSON",
		`{"size":"1"}`:                         "unmarshal JSON",
		`{"size":NaN}`:                         "invalid character",
		`{"size":01}`:                          "invalid character",
		`[]`:                                   "unmarshal JSON",
		strings.Repeat(`{"kids":[`, 1_000_000): "depth",
		strings.Repeat(`[`, 1_000_000):         "unmarshal JSON",
		strings.Repeat(`{"x":`, 1_000_000):     "depth",
	} {
		if v, err := s.Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s is read as %+v, %v, want %q", in, v, err, want)
		} else if len(err.Error()) > 300 {
			t.Errorf("%.40s: an error of %d bytes", in, len(err.Error()))
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if b, err := serde.JSON[[]float64]().Append([]byte("x"), []float64{1, v}); err == nil || string(b) != "x" {
			t.Errorf("%v is written as %s, %v", v, b, err)
		}
	}
	if b, err := s.Append(nil, branch{Name: "\xff"}); err == nil {
		t.Errorf("text that is not UTF-8 is written as %q", b)
	}
	loop := &branch{}
	loop.Kids = []*branch{loop}
	if _, err := s.Append(nil, *loop); err == nil {
		t.Error("a value that contains itself is written")
	}
}

// Large is the size of the largest value that anyone should meet.
const large = 64 << 20

func TestLargeValues(t *testing.T) {
	text := strings.Repeat("x", large)
	if v, err := serde.String.Decode([]byte(text)); err != nil || len(v) != large {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	b, err := serde.JSON[branch]().Append(nil, branch{Name: text})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := serde.JSON[branch]().Decode(b); err != nil || v.Name != text {
		t.Errorf("%d bytes, %v", len(v.Name), err)
	}
	r := row(t, serde.RowType("", serde.Field{Name: "s", Type: serde.KindString.Type()}), text)
	if b, err = serde.Rows(r.Type()).Append(b[:0], r); err != nil {
		t.Fatal(err)
	}
	if got, err := serde.Rows(r.Type()).Decode(b); err != nil || !got.Equal(r) {
		t.Errorf("a large row: %v", err)
	}
	if v, err := serde.Rows(r.Type()).Decode(b[:len(b)-1]); err == nil {
		t.Errorf("a large row without its end is %.40v", v)
	}
}

// What is not written must not be read: two encodings of one key would be two keys.
func TestRefusesOtherForms(t *testing.T) {
	span := strings.Repeat("\x80\x00\x00\x00\x00\x00\x00\x00", 2)
	for _, in := range []string{"", span, "a" + span, "a\x00\x01", "a\x00\x02" + span, "a\x00\x01\x00\x01" + span, "\x00\x00\x00\x01" + span, "a\x00" + span, "\xff\x00\x01" + span[1:]} {
		if v, err := serde.Windowed(serde.String).Decode([]byte(in)); err == nil {
			t.Errorf("%q is read as %v", in, v)
		}
	}
	inState := bound(t, serde.Optional(serde.String), serde.Binding{Internal: true})
	for _, in := range []string{"", "\x00\x00", "\x02", "\x00x"} {
		if v, err := inState.Decode([]byte(in)); err == nil {
			t.Errorf("%q is read as %v", in, v)
		}
	}
	counts := serde.Rows(serde.RowType("", serde.Field{Name: "m", Type: serde.MapType(serde.KindBoolean.Type())}))
	if v, err := counts.Decode([]byte("\x02\x01a\x01\x01b\x00")); err != nil || v.String() != "{m: map[a:true b:false]}" {
		t.Errorf("a map is %v, %v", v, err)
	}
	for _, in := range []string{"\x02\x01b\x01\x01a\x00", "\x02\x01a\x01\x01a\x00", "\x01\x01a\x02", "\x01\x01\xff\x01"} {
		if v, err := counts.Decode([]byte(in)); err == nil {
			t.Errorf("%q is read as %v", in, v)
		}
	}
}
