package avrotest

import (
	"encoding/hex"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"github.com/weirstream/weir/serde/avro"
)

// Run holds a codec to the kit. The resolutions in except are those that it refuses to compile, by their names; it must
// really refuse them.
func Run(t *testing.T, c avro.Codec, except ...string) {
	t.Run("values", func(t *testing.T) { each(t, Values(), c, c) })
	t.Run("dynamic", func(t *testing.T) { eachDynamic(t, c, c) })
	t.Run("resolution", func(t *testing.T) { resolutions(t, c, except) })
	t.Run("broken", func(t *testing.T) { broken(t, c) })
	t.Run("concurrent", func(t *testing.T) { concurrent(t, c) })
}

// Cross has each of two codecs read what the other one writes.
func Cross(t *testing.T, a, b avro.Codec) {
	t.Run(a.Name()+" to "+b.Name(), func(t *testing.T) { each(t, Values(), a, b); eachDynamic(t, a, b) })
	t.Run(b.Name()+" to "+a.Name(), func(t *testing.T) { each(t, Values(), b, a); eachDynamic(t, b, a) })
}

func each(t *testing.T, cases []Value, from, to avro.Codec) {
	for _, v := range cases {
		t.Run(v.Name, func(t *testing.T) { roundTrip(t, v, reflect.TypeOf(v.Go), from, to) })
	}
}

func eachDynamic(t *testing.T, from, to avro.Codec) {
	for _, v := range Dynamic() {
		t.Run(v.Name, func(t *testing.T) { roundTrip(t, v, reflect.TypeFor[any](), from, to) })
	}
}

func roundTrip(t *testing.T, v Value, as reflect.Type, from, to avro.Codec) {
	b := Encode(t, from, v.Schema, as, v.Go)
	if v.Hex != "" && hex.EncodeToString(b) != v.Hex {
		t.Errorf("encoded as %x, want %s", b, v.Hex)
	}
	decode, err := to.Decoder(v.Schema, v.Schema, as)
	if err != nil {
		t.Fatal(err)
	}
	got := reflect.New(as)
	rest, err := decode(b, got.Interface())
	if err != nil || len(rest) > 0 {
		t.Fatalf("decoding % x: %v, %d bytes left", b, err, len(rest))
	}
	if !Equal(got.Elem().Interface(), v.Go) {
		t.Errorf("decoded %#v, want %#v", got.Elem().Interface(), v.Go)
	}
}

// Encode encodes a value, after a prefix that must stay.
func Encode(t testing.TB, c avro.Codec, schema string, as reflect.Type, v any) []byte {
	t.Helper()
	encode, err := c.Encoder(schema, as)
	if err != nil {
		t.Fatal(err)
	}
	p := reflect.New(as)
	if v != nil {
		p.Elem().Set(reflect.ValueOf(v))
	}
	b, err := encode([]byte("prefix"), p.Interface())
	if err != nil {
		t.Fatal(err)
	}
	if string(b[:6]) != "prefix" {
		t.Fatalf("the bytes before the value became %q", b[:6])
	}
	return b[6:]
}

// Equal compares decoded values; decimals by what they are worth.
func Equal(a, b any) bool {
	if x, ok := a.(*big.Rat); ok {
		y, ok := b.(*big.Rat)
		return ok && x != nil && y != nil && x.Cmp(y) == 0
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k := range x {
			if v, ok := y[k]; !ok || !Equal(x[k], v) {
				return false
			}
		}
		return true
	case Logical:
		y, ok := b.(Logical)
		if !ok || !Equal(x.Price, y.Price) || !Equal(x.Exact, y.Exact) {
			return false
		}
		x.Price, x.Exact, y.Price, y.Exact = nil, nil, nil, nil
		return x == y
	}
	return reflect.DeepEqual(a, b)
}

func resolutions(t *testing.T, c avro.Codec, except []string) {
	for _, r := range Resolutions() {
		t.Run(r.Name, func(t *testing.T) {
			dynamic := reflect.TypeFor[any]()
			b := Encode(t, c, r.Writer, dynamic, r.Written)
			writer, reader := parsed(t, r.Writer), parsed(t, r.Reader)
			if err := avro.CheckReadable(writer, reader); err != nil {
				t.Fatal(err)
			}
			decode, err := c.Decoder(writer.String(), reader.String(), dynamic)
			if slices.Contains(except, r.Name) {
				if err == nil {
					t.Error("it was said to be refused, and compiles")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got any
			rest, err := decode(b, &got)
			if err != nil || len(rest) > 0 {
				t.Fatalf("%v, %d bytes left", err, len(rest))
			}
			if !Equal(got, r.Read) {
				t.Errorf("read %#v, want %#v", got, r.Read)
			}
		})
	}
}

func parsed(t testing.TB, schema string) *avro.Type {
	t.Helper()
	typ, err := avro.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// concurrent uses one encoder and one decoder from many goroutines; it is worth something under the race detector.
func concurrent(t *testing.T, c avro.Codec) {
	v := Values()[19] // nested
	as := reflect.TypeOf(v.Go)
	encode, err := c.Encoder(v.Schema, as)
	if err != nil {
		t.Fatal(err)
	}
	decode, err := c.Decoder(v.Schema, v.Schema, as)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	for range 8 {
		go func() {
			ok := true
			for range 200 {
				p := reflect.New(as)
				p.Elem().Set(reflect.ValueOf(v.Go))
				b, err := encode(nil, p.Interface())
				got := reflect.New(as)
				_, err2 := decode(b, got.Interface())
				ok = ok && err == nil && err2 == nil && Equal(got.Elem().Interface(), v.Go)
			}
			done <- ok
		}()
	}
	for range 8 {
		if !<-done {
			t.Error("a value came back as another one")
		}
	}
}
