package avro_test

import (
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

type parcelV1 struct {
	ID     int64  `avro:"id"`
	Weight int32  `avro:"weight"`
	City   string `avro:"city"`
}

type parcelV2 struct {
	ID      int64   `avro:"id"`
	Weight  int64   `avro:"weight"`
	Town    string  `avro:"town,alias=city,default=?"`
	Insured bool    `avro:"insured,default=false"`
	Note    *string `avro:"note"`
}

// Two versions of a program share a topic, on whatever registry there is.
func TestTwoVersionsOfAProgram(t *testing.T) {
	topic := registrytest.Subject("parcels")
	name := avro.Name("weir.P" + registrytest.Subject("x")[2:])
	at := serde.Binding{Topic: topic, Registry: registrytest.Open(t), Writes: true}
	v1 := bind(t, avro.Registered[parcelV1](name), at)
	old, err := v1.Append(nil, parcelV1{1, 500, "Ulm"})
	must(t, old, err)
	v2 := bind(t, avro.Registered[parcelV2](name), at)
	fresh, err := v2.Append(nil, parcelV2{2, 600, "Bonn", true, nil})
	must(t, fresh, err)
	if got, err := v2.Decode(old); must(t, got, err) != (parcelV2{1, 500, "Ulm", false, nil}) {
		t.Errorf("v1 read by v2: %+v", got)
	}
	if got, err := v2.Decode(fresh); must(t, got, err) != (parcelV2{2, 600, "Bonn", true, nil}) {
		t.Errorf("v2 read by v2: %+v", got)
	}
	dynamic := bind(t, avro.Registered[avro.Record](), at)
	for i, b := range [][]byte{old, fresh} {
		r, err := dynamic.Decode(b)
		must(t, r, err)
		if id, _ := r.Get("id"); id != int64(i+1) {
			t.Errorf("record %d: %v", i, r.Fields())
		}
		back, err := dynamic.Append(nil, r)
		if must(t, back, err); string(back) != string(b) {
			t.Errorf("record %d was written as % x, read from % x", i, back, b)
		}
	}
	latest := bind(t, avro.Registered[parcelV2](name, avro.UseLatest()), at)
	b, err := latest.Append(nil, parcelV2{2, 600, "Bonn", true, nil})
	if must(t, b, err); string(b) != string(fresh) {
		t.Errorf("with the latest version % x, with the type's own % x", b, fresh)
	}
	byName := bind(t, avro.Registered[parcelV1](name, avro.Subject(registry.RecordName)), at)
	if b, err := byName.Append(nil, parcelV1{1, 500, "Ulm"}); string(must(t, b, err)) != string(old) {
		t.Errorf("under another subject the id differs: % x, % x", b, old)
	}
}
