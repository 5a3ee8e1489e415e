package jsonschema_test

import (
	"reflect"
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/jsonschema"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// Writing, reading and finding schemas again, on whatever registry there is.
func TestOnARegistry(t *testing.T) {
	at := serde.Binding{Topic: registrytest.Subject("orders"), Registry: registrytest.Open(t), Writes: true}
	s := bind(t, jsonschema.Registered[order](jsonschema.Schema(orderSchema)), at)
	want := orders()[2]
	b, err := s.Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]serde.Serde[order]{
		"its own schema": jsonschema.Registered[order](jsonschema.Schema(orderSchema)),
		"the latest":     jsonschema.Registered[order](jsonschema.UseLatest()),
		"version 1":      jsonschema.Registered[order](jsonschema.Version(1)),
	} {
		o := bind(t, other, at)
		if got, err := o.Decode(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read as %+v, %v", name, got, err)
		}
		if again, err := o.Append(nil, want); err != nil || string(again) != string(b) {
			t.Errorf("%s: written as %q, %v, was %q", name, again, err, b)
		}
		if _, err := o.Append(nil, order{}); err == nil {
			t.Errorf("%s: what the schema forbids was written", name)
		}
	}
}
