package avro_test

import (
	"errors"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// Optional takes nothing away from the serde inside: it evolves, and finds its schema in headers.
func TestOptionalEvolvesAndLooksAtHeaders(t *testing.T) {
	old := bind(t, serde.Optional(avro.Of[Order]()), serde.Binding{Internal: true})
	now := bind(t, serde.Optional(avro.Of[orderV2](avro.Name("Order"))), serde.Binding{Internal: true})
	must(t, 0, serde.Accepts(now, old.Format()))
	for _, v := range []*Order{{7, "ann", 1}, nil} {
		b, err := old.Append(nil, v)
		must(t, b, err)
		got, err := now.Decode(b)
		if must(t, got, err); (got == nil) != (v == nil) || got != nil && got.Client != "ann" {
			t.Errorf("%+v was read as %+v", v, got)
		}
	}
	if err := serde.Accepts(old, now.Format()); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("going back: %v", err)
	}
	if err := serde.Accepts(now, avro.Of[Order]().Format()); !errors.Is(err, serde.ErrIncompatible) {
		t.Errorf("state that was not optional: %v", err)
	}
	inTopic := bind(t, serde.Optional(avro.Registered[Order]()), serde.Binding{Registry: registrytest.New()})
	b, err := inTopic.Append(nil, &Order{ID: 7})
	must(t, b, err)
	h, ok := inTopic.(serde.HeaderDecoder[*Order])
	if !ok {
		t.Fatal("headers are not looked at")
	}
	got, err := h.DecodeHeaders(b[5:], func(name string) []byte {
		if name == "__value_schema_id" {
			return b[:5]
		}
		return nil
	})
	if must(t, got, err).ID != 7 {
		t.Errorf("got %+v", got)
	}
}
