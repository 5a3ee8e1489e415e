package avro_test

import (
	"reflect"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/avro/avrotest"
	"github.com/weirstream/weir/serde/avro/hamba"
)

// Whatever the bytes are: no codec panics, and bytes that the shield passes are one value to both.
func FuzzDecode(f *testing.F) {
	type compiled struct {
		check  func([]byte) error
		codecs []avro.Decoder
	}
	var all []compiled
	dynamic := reflect.TypeFor[any]()
	add := func(schema string) {
		typ, err := avro.Parse(schema)
		must(f, typ, err)
		c := compiled{check: avro.Shield(typ)}
		for _, codec := range []avro.Codec{avro.Default(), hamba.New()} {
			decode, err := codec.Decoder(typ.String(), typ.String(), dynamic)
			must(f, decode, err)
			c.codecs = append(c.codecs, decode)
		}
		all = append(all, c)
	}
	for _, v := range avrotest.Values() {
		add(v.Schema)
		f.Add(byte(len(all)-1), avrotest.Encode(f, avro.Default(), v.Schema, reflect.TypeOf(v.Go), v.Go))
	}
	for _, h := range avrotest.Hostile() {
		add(h.Schema)
		f.Add(byte(len(all)-1), fromHex(f, h.Hex))
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		c := all[int(which)%len(all)]
		sound := c.check(b) == nil
		var got [2]any
		var errs [2]error
		for i, decode := range c.codecs {
			_, errs[i] = decode(b, &got[i])
		}
		if sound && (errs[0] != nil || errs[1] != nil) {
			t.Fatalf("the shield passes % x, the codecs say %v and %v", b, errs[0], errs[1])
		}
		if !sound && errs[1] == nil {
			t.Fatalf("% x went past the shield", b)
		}
		if sound && !avrotest.Equal(got[0], got[1]) && !hasNaN(got[0]) {
			t.Fatalf("% x is %#v to one codec and %#v to the other", b, got[0], got[1])
		}
	})
}

// hasNaN tells whether a value differs from itself.
func hasNaN(v any) bool { return !avrotest.Equal(v, v) }

// Schemas come from registries, which take them from anyone.
func FuzzParse(f *testing.F) {
	for _, v := range avrotest.Values() {
		f.Add(v.Schema, v.Schema)
	}
	for _, r := range avrotest.Resolutions() {
		f.Add(r.Writer, r.Reader)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		writer, err := avro.Parse(one)
		if err != nil {
			return
		}
		if again, err := avro.Parse(writer.String()); err != nil || again.Fingerprint() != writer.Fingerprint() {
			t.Fatalf("%s reads as %v, %v", writer, again, err)
		}
		if rt, err := avro.RowType(writer); err == nil && rt.Problem() != nil {
			t.Fatalf("%s has the row type %v", writer, rt)
		}
		reader, err := avro.Parse(two)
		if err != nil || avro.CheckReadable(writer, reader) != nil {
			return
		}
		if _, err := avro.Default().Decoder(writer.String(), reader.String(), reflect.TypeFor[any]()); err != nil {
			t.Fatalf("%s is readable as %s, and does not compile: %v", writer, reader, err)
		}
	})
}

// A value in state is whatever a disk gives back.
func FuzzState(f *testing.F) {
	s := avro.Of[orderV2](avro.Name("Order"))
	must(f, 0, serde.Accepts(s, avro.Of[Order]().Format()))
	for _, b := range [][]byte{must1(avro.Of[Order]().Append(nil, Order{1, "a", 2})), must1(s.Append(nil, orderV2{ID: 1, Note: "n"}))} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := s.Decode(b)
		if err != nil {
			return
		}
		again, err := s.Append(nil, v)
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", v, err)
		}
		back, err := s.Decode(again)
		if err != nil || back.Client != v.Client || back.ID != v.ID || back.Cents != v.Cents {
			t.Fatalf("%+v came back as %+v, %v", v, back, err)
		}
	})
}
