package protobuf_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/protobuf"
	"github.com/weirstream/weir/serde/protobuf/testdata/testpb"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// What we print, register and read back is understood by whatever registry there is.
func TestOnARegistry(t *testing.T) {
	at := serde.Binding{Topic: registrytest.Subject("orders"), Registry: registrytest.Open(t), Writes: true}
	s := bind(t, protobuf.Registered[*testpb.Order](), at)
	want := full(t)
	b, err := s.Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Decode(b); err != nil || !proto.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	// Another process finds what is registered, and the latest version.
	for _, other := range []serde.Serde[*testpb.Order]{protobuf.Registered[*testpb.Order](), protobuf.Registered[*testpb.Order](protobuf.UseLatest())} {
		again, err := bind(t, other, at).Append(nil, want)
		if err != nil || string(again) != string(b) {
			t.Errorf("written again it is % .40x, %v, was % .40x", again, err, b)
		}
	}
	at.Writes = false // for readers that have no schema of their own
	m, err := bind(t, protobuf.Registered[*dynamicpb.Message](), at).Decode(b)
	if err != nil || m.Descriptor().FullName() != "weir.test.Order" {
		t.Errorf("without generated code: %v, %v", m, err)
	}
	r, err := bind(t, protobuf.Registered[serde.Row](), at).Decode(b)
	if name, ok := r.Value[string]("customer"); err != nil || !ok || name != "Ada" {
		t.Errorf("as a row: %v, %v", r, err)
	}
}

func TestOnARegistryEvolves(t *testing.T) {
	at := serde.Binding{Topic: registrytest.Subject("money"), Registry: registrytest.Open(t), Writes: true}
	v1 := bind(t, protobuf.Registered[*testpb.Money](), at)
	old, err := v1.Append(nil, &testpb.Money{Currency: "EUR", Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	md, err := protobuf.Parse("Money", moneyV2, nil)
	if err != nil {
		t.Fatal(err)
	}
	v2 := bind(t, protobuf.Registered[serde.Row](protobuf.Message(md)), at)
	r, err := v2.Decode(old)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := v2.Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := v1.Decode(fresh); err != nil || m.GetUnits() != 5 {
		t.Errorf("version 2 read by version 1: %v, %v", m, err)
	}
	bad, err := protobuf.Parse("Money", `syntax = "proto3"; package weir.test; message Money { string currency = 1; string units = 2; }`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bind(t, protobuf.Registered[serde.Row](protobuf.Message(bad)), serde.Binding{Topic: at.Topic, Registry: at.Registry}).Decode(old); err == nil {
		t.Error("a field that changed its type was read")
	}
}
