package serde

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func TestSchemaIDRoundTrip(t *testing.T) {
	for _, id := range []int{0, 1, 255, 256, 1 << 24, math.MaxInt32} {
		b := append(AppendSchemaID([]byte("before"), id), "payload"...)
		if !bytes.HasPrefix(b, []byte("before\x00")) {
			t.Fatalf("id %d: %q lost what was in dst or the magic byte", id, b)
		}
		got, payload, err := CutSchemaID(b[len("before"):])
		if err != nil || got != id || string(payload) != "payload" {
			t.Errorf("id %d: got %d, %q, %v", id, got, payload, err)
		}
	}
}

func TestSchemaIDGolden(t *testing.T) {
	if got := AppendSchemaID(nil, 0x01020304); !bytes.Equal(got, []byte{0, 1, 2, 3, 4}) {
		t.Errorf("wire format is % x", got)
	}
}

func TestSchemaIDRefuses(t *testing.T) {
	for _, b := range [][]byte{nil, {}, {0}, {0, 0, 0, 1}, {1, 0, 0, 0, 1}, {'{', '"', 'a', '"', ':'}, {0, 0x80, 0, 0, 0}, {0, 0xff, 0xff, 0xff, 0xff}} {
		if id, _, err := CutSchemaID(b); !errors.Is(err, errSchemaHeader) {
			t.Errorf("% x: got id %d, error %v", b, id, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an id of 32 bits did not panic")
		}
	}()
	AppendSchemaID(nil, math.MaxInt32+1)
}

func TestSchemaIDAllocates(t *testing.T) {
	buf := make([]byte, 0, 16)
	if n := testing.AllocsPerRun(100, func() {
		if id, _, err := CutSchemaID(AppendSchemaID(buf, 7)); err != nil || id != 7 {
			t.Fatal(id, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSchemaID(b *testing.B) {
	buf := make([]byte, 0, 16)
	b.ReportAllocs()
	for b.Loop() {
		if id, _, err := CutSchemaID(AppendSchemaID(buf, 7)); err != nil || id != 7 {
			b.Fatal(id, err)
		}
	}
}
