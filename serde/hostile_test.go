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
		`{"size":1e99999999}`:                  "cannot unmarshal",
		`{"size":1.5}`:                         "cannot unmarshal",
		`{"size":"1"}`:                         "cannot unmarshal",
		`{"size":NaN}`:                         "invalid character",
		`{"size":01}`:                          "invalid character",
		`[]`:                                   "cannot unmarshal",
		strings.Repeat(`{"kids":[`, 1_000_000): "depth",
		strings.Repeat(`[`, 1_000_000):         "cannot unmarshal",
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
