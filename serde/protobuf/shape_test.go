package protobuf

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/protobuf/testdata/testpb"
)

func shapeFrom(t *testing.T, body string) shape {
	t.Helper()
	md, err := Parse("M", `syntax = "proto2"; package p; message N { optional int32 n = 1; } enum E { A = 0; } message O { optional string n = 1; } message M { `+body+` }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := shapeOf(md)
	again, err := parseShape(s.String())
	if err != nil || again.String() != s.String() {
		t.Fatalf("%s is read as %s, %v", s, again, err)
	}
	return again
}

func TestShapeGolden(t *testing.T) {
	want := "p.M{1 a required string;2 b repeated message p.N;3 c map message p.M.CEntry;4 d enum}p.M.CEntry{1 key string;2 value message p.N}p.N{1 n int32}"
	if got := shapeFrom(t, "required string a = 1; repeated N b = 2; map<string, N> c = 3; optional E d = 4;").String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadable(t *testing.T) {
	for name, c := range map[string]struct{ was, now, field string }{
		"same":                {"optional int32 a = 1;", "optional int32 a = 1;", ""},
		"renamed":             {"optional int32 a = 1;", "optional int32 b = 1;", ""},
		"added":               {"", "optional int32 a = 1;", ""},
		"removed":             {"optional int32 a = 1;", "", ""},
		"wider":               {"optional int32 a = 1;", "optional int64 a = 1;", ""},
		"bool to int":         {"optional bool a = 1;", "optional uint32 a = 1;", ""},
		"text to bytes":       {"optional string a = 1;", "optional bytes a = 1;", ""},
		"became a list":       {"optional int32 a = 1;", "repeated int32 a = 1;", ""},
		"less strict":         {"required int32 a = 1;", "optional int32 a = 1;", ""},
		"other message":       {"optional O a = 1;", "optional O a = 1;", ""},
		"narrower":            {"optional int64 a = 1;", "optional int32 a = 1;", "p.M.a (1) was int64, and is int32"},
		"zigzag":              {"optional int32 a = 1;", "optional sint32 a = 1;", "p.M.a (1) was int32, and is sint32"},
		"bytes to text":       {"optional bytes a = 1;", "optional string a = 1;", "p.M.a (1) was bytes, and is string"},
		"list to one":         {"repeated int32 a = 1;", "optional int32 a = 1;", "p.M.a (1) was repeated int32, and is int32"},
		"stricter":            {"optional int32 a = 1;", "required int32 a = 1;", "p.M.a (1) was int32, and is required int32"},
		"required added":      {"", "required int32 a = 1;", "p.M.a (1) is required"},
		"message to text":     {"optional N a = 1;", "optional string a = 1;", "p.M.a (1) was message, and is string"},
		"nested field":        {"optional N a = 1;", "optional O a = 1;", "p.O.n (1) was int32, and is string"},
		"map to list":         {"map<string, N> a = 1;", "repeated N a = 1;", "p.M.a (1) was map message, and is repeated message"},
		"value of a map":      {"map<string, int32> a = 1;", "map<string, string> a = 1;", "p.M.AEntry.value (2) was int32, and is string"},
		"number used anew":    {"optional int32 a = 1; optional string b = 2;", "optional string b = 1;", "p.M.b (1) was int32, and is string"},
		"recursive, the same": {"optional M a = 1;", "optional M a = 1;", ""},
	} {
		err := readable(shapeFrom(t, c.was), shapeFrom(t, c.now))
		if c.field == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, serde.ErrIncompatible) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: error is %v, want %q", name, err, c.field)
		}
	}
}

func TestStoredFormats(t *testing.T) {
	s := Of[*testpb.Order]()
	if err := serde.Accepts(s, s.Format()); err != nil {
		t.Error(err)
	}
	older := strings.Replace(s.Format(), ";15 gift bool", "", 1)
	if older == s.Format() {
		t.Fatal("the format does not say its fields")
	}
	if err := serde.Accepts(s, older); err != nil {
		t.Errorf("a field less: %v", err)
	}
	other := strings.Replace(s.Format(), "15 gift bool", "15 gift string", 1)
	if err := serde.Accepts(s, other); !errors.Is(err, serde.ErrIncompatible) || !strings.Contains(err.Error(), "gift (15)") {
		t.Errorf("another kind: %v", err)
	}
	for _, bad := range []string{"json", "", "protobuf:garbage", "protobuf:a{", "protobuf:a{1}", "protobuf:a{x y z}"} {
		if err := serde.Accepts(s, bad); !errors.Is(err, serde.ErrIncompatible) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
