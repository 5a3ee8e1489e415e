package protobuf

import (
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weirstream/weir/serde/protobuf/testdata/testpb"
)

// essence is a descriptor without what the printer leaves out on purpose.
func essence(file protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	fd := protodesc.ToFileDescriptorProto(file)
	fd.Name, fd.Options, fd.Service, fd.SourceCodeInfo = nil, nil, nil, nil
	return fd
}

// What is printed must compile to the descriptor that it was printed from: the registry's other readers have nothing else.
func TestSourceRoundTrip(t *testing.T) {
	money, err := sourceOf(testpb.File_money_proto)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []protoreflect.FileDescriptor{testpb.File_money_proto, testpb.File_order_proto, testpb.File_legacy_proto} {
		text, err := sourceOf(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text, "syntax") {
			t.Errorf("%s is not printed as text: %.60s", file.Path(), text)
		}
		again, err := compile(text, map[string]string{"money.proto": money})
		if err != nil {
			t.Fatalf("%s does not compile: %v\n%s", file.Path(), err, text)
		}
		if want, got := essence(file), essence(again); !proto.Equal(want, got) {
			t.Errorf("%s became\n%v\nwant\n%v\nby\n%s", file.Path(), got, want, text)
		}
	}
}

func TestSourceGolden(t *testing.T) {
	text, err := sourceOf(testpb.File_money_proto)
	want := `syntax = "proto3";
package weir.test;
message Money {
  string currency = 1;
  int64 units = 2;
}
`
	if err != nil || text != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, text, want)
	}
}

// Files that the printer does not know enough for go as descriptors, which compile as well.
func TestSourceFallsBack(t *testing.T) {
	for name, source := range map[string]string{
		"extensions": `syntax = "proto2"; message M { extensions 100 to 200; } extend M { optional int32 e = 100; }`,
		"group":      `syntax = "proto2"; message M { optional group G = 1 { optional int32 a = 1; } }`,
		"edition":    `edition = "2023"; message M { int32 a = 1; }`,
	} {
		file, err := compile(source, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		text, err := sourceOf(file)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			t.Errorf("%s: %.60s is no descriptor", name, text)
		}
		again, err := compile(text, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if want, got := essence(file), essence(again); !proto.Equal(want, got) {
			t.Errorf("%s became %v, want %v", name, got, want)
		}
	}
}

func TestParseFinds(t *testing.T) {
	source := `syntax = "proto3"; package a.b; import "x.proto"; message First { message In { message Deep {} } } message Second { x.X f = 1; }`
	imports := map[string]string{"x.proto": `syntax = "proto3"; package x; message X {}`}
	for name, want := range map[string]string{"": "a.b.First", "Second": "a.b.Second", "a.b.Second": "a.b.Second", "First.In": "a.b.First.In", "a.b.First.In.Deep": "a.b.First.In.Deep"} {
		md, err := Parse(name, source, imports)
		if err != nil || string(md.FullName()) != want {
			t.Errorf("%q is %v, %v, want %s", name, md, err, want)
		}
	}
	for name, bad := range map[string][3]string{
		"no message":  {"Third", source, "x"},
		"syntax":      {"", "syntax = \"proto3\"; message {", ""},
		"no messages": {"", "syntax = \"proto3\";", ""},
		"no import":   {"", `syntax = "proto3"; import "y.proto"; message M {}`, ""},
		"import loop": {"", `syntax = "proto3"; import "schema:main"; message M {}`, ""},
		"no type":     {"", `syntax = "proto3"; message M { Gone g = 1; }`, ""},
		"garbage":     {"", "\x00\xff", ""},
		"base64 only": {"", "AAAA", ""},
		"empty":       {"Gone", "", ""},
	} {
		if md, err := Parse(bad[0], bad[1], imports); err == nil {
			t.Errorf("%s: got %v", name, md.FullName())
		}
	}
	if _, err := Parse("", strings.Repeat(" ", maxSchemaBytes+1), nil); err == nil {
		t.Error("a huge schema was compiled")
	}
}

func TestIndexes(t *testing.T) {
	order := testpb.File_order_proto.Messages()
	deep := order.ByName("Other").Messages().ByName("Inner").Messages().ByName("Deep")
	for want, md := range map[string]protoreflect.MessageDescriptor{
		"\x00":             order.ByName("Order"),
		"\x02\x02":         order.ByName("Other"),
		"\x04\x00\x00":     order.ByName("Order").Messages().ByName("Line"),
		"\x06\x02\x00\x00": deep,
	} {
		b := appendIndexes(nil, indexesOf(md))
		if string(b) != want {
			t.Errorf("%s has indexes % x, want % x", md.FullName(), b, want)
		}
		encoded, payload, err := cutIndexes(append(b, "payload"...))
		if err != nil || string(payload) != "payload" {
			t.Fatalf("% x: payload %q, %v", b, payload, err)
		}
		if got, err := messageAt(testpb.File_order_proto, encoded); err != nil || got != md {
			t.Errorf("% x leads to %v, %v", b, got, err)
		}
	}
	long, _, _ := cutIndexes([]byte{0x02, 0x00})
	if md, err := messageAt(testpb.File_order_proto, long); err != nil || md.Name() != "Order" {
		t.Errorf("the long form of [0] is %v, %v", md, err)
	}
	for _, bad := range []string{"", "\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x02", "\x02\x01", "\x04\x00", "\x80", "\xfe\x01"} {
		if encoded, _, err := cutIndexes([]byte(bad)); err == nil {
			t.Errorf("% x gives indexes % x", bad, encoded)
		}
	}
	for _, outside := range []string{"\x02\x08", "\x04\x02\x02", "\x06\x00\x00\x00"} {
		if md, err := messageAt(testpb.File_order_proto, []byte(outside)); err == nil {
			t.Errorf("% x leads to %s", outside, md.FullName())
		}
	}
}
