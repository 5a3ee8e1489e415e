package avro_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// Order is the type of the first version of the program, orderV2 of the second.
type Order struct {
	ID       int64  `avro:"id"`
	Customer string `avro:"customer"`
	Cents    int32  `avro:"cents"`
}

type orderV2 struct {
	ID     int64   `avro:"id"`
	Client string  `avro:"client,alias=customer"`
	Cents  int64   `avro:"cents"`
	Note   string  `avro:"note,default=none"`
	Parent *string `avro:"parent"`
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// bind binds a serde to topic "orders" of a registry.
func bind[T any](t testing.TB, s serde.Serde[T], at serde.Binding) serde.Serde[T] {
	t.Helper()
	if at.Topic == "" {
		at.Topic = "orders"
	}
	bound, err := serde.Bind(s, at)
	return must(t, bound, err)
}

func TestRegisteredRoundTrip(t *testing.T) {
	reg := registrytest.New()
	s := bind(t, avro.Registered[Order](), serde.Binding{Registry: registry.New(reg.Config()), Writes: true})
	if got := reg.Subjects(); len(got) != 0 {
		t.Errorf("binding registered %v", got)
	}
	want := Order{7, "ann", 1299}
	b, err := s.Append([]byte("x"), want)
	must(t, b, err)
	if string(b[:6]) != "x\x00\x00\x00\x00\x01" {
		t.Errorf("wire format % x", b[:6])
	}
	got, err := s.Decode(b[1:])
	if must(t, got, err) != want {
		t.Errorf("got %+v", got)
	}
	if subjects := reg.Subjects(); len(subjects) != 1 || subjects[0] != "orders-value" {
		t.Errorf("subjects %v", subjects)
	}
}

func TestVersionsReadEachOther(t *testing.T) {
	reg := registrytest.New()
	client := registry.New(reg.Config())
	v1 := bind(t, avro.Registered[Order](), serde.Binding{Registry: client, Writes: true})
	v2 := bind(t, avro.Registered[orderV2](avro.Name("Order")), serde.Binding{Registry: client})
	old, err := v1.Append(nil, Order{7, "ann", 1299})
	must(t, old, err)
	up, err := v2.Decode(old)
	if want := (orderV2{7, "ann", 1299, "none", nil}); must(t, up, err) != want {
		t.Errorf("v1 read as v2: %+v", up)
	}
	// The old reader wants customer, which the new writer calls client.
	reg.SetCompatibility("orders-value", registrytest.None)
	fresh, err := v2.Append(nil, orderV2{ID: 8})
	must(t, fresh, err)
	for range 3 {
		_, err = v1.Decode(fresh)
		if !errors.Is(err, serde.ErrIncompatible) || !strings.Contains(err.Error(), "c") || !strings.Contains(err.Error(), "id 2") {
			t.Fatalf("v2 read as v1: %v", err)
		}
	}
}
