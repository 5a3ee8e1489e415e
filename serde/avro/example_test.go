package avro_test

import (
	"fmt"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/avro"
	"github.com/weirstream/weir/serde/avro/hamba"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

type Payment struct {
	ID    int64     `avro:"id"`
	At    time.Time `avro:"at,timestamp-micros"`
	Payee string    `avro:"payee"`
	Note  *string   `avro:"note"`
}

// State and topics between weir programs: no registry, and the schema's fingerprint in front of each value.
func ExampleOf() {
	s := avro.Of[Payment]()
	b, err := s.Append(nil, Payment{ID: 7, At: time.UnixMicro(1_700_000_000_000_000), Payee: "ann"})
	fmt.Printf("%x… %v\n", b[:2], err)
	p, err := s.Decode(b)
	fmt.Println(p.ID, p.At.UTC(), p.Payee, p.Note, err)
	// Output:
	// c301… <nil>
	// 7 2023-11-14 22:13:20 +0000 UTC ann <nil> <nil>
}

// A topic whose schemas are in a registry. In a program, stream.Config has the registry and Build binds the serde.
func ExampleRegistered() {
	reg := registrytest.New()
	s, err := serde.Bind(avro.Registered[Payment](), serde.Binding{Topic: "payments", Registry: registry.New(reg.Config())})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := s.Append(nil, Payment{ID: 7, Payee: "ann"})
	fmt.Printf("% x… %v %v\n", b[:5], reg.Subjects(), err)
	// Output: 00 00 00 00 01… [payments-value] <nil>
}

// A record whose schema nobody knows before it arrives.
func ExampleRecord() {
	t, err := avro.Parse(`{"type":"record","name":"Reading","fields":[
		{"name":"sensor","type":"string"},{"name":"celsius","type":["null","double"],"default":null}]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := avro.NewRecord(t, map[string]any{"sensor": "roof"})
	fmt.Println(r.Set("celsius", 21.5), r.Fields(), err)
	// Output: <nil> map[celsius:21.5 sensor:roof] <nil>
}

// Rows are the dynamic form that all formats share.
func ExampleRows() {
	t := serde.RowType("reading", serde.Field{Name: "sensor", Type: serde.KindString.Type()}, serde.Field{Name: "celsius", Type: serde.KindFloat64.Type().OrNull()})
	row, err := serde.NewRow(t, "roof", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := avro.Rows(t)
	b, err := s.Append(nil, row)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Decode(b))
	// Output: {sensor: roof, celsius: null} <nil>
}

// A store that was written by the first version of a program is opened by the second one.
func ExampleCheckReadable() {
	old, _ := avro.Parse(`{"type":"record","name":"Payment","fields":[{"name":"id","type":"int"}]}`)
	good, _ := avro.Parse(`{"type":"record","name":"Payment","fields":[{"name":"id","type":"long"},{"name":"payee","type":"string","default":"?"}]}`)
	bad, _ := avro.Parse(`{"type":"record","name":"Payment","fields":[{"name":"id","type":"long"},{"name":"payee","type":"string"}]}`)
	fmt.Println(avro.CheckReadable(old, good))
	fmt.Println(avro.CheckReadable(old, bad))
	// Output:
	// <nil>
	// field payee: reader field has no default and is missing from writer (written as nothing, read as string)
}

// Another library does the work; the bytes are the same.
func ExampleUsing() {
	s := avro.Of[Payment](avro.Using(hamba.New()))
	b, err := avro.Of[Payment]().Append(nil, Payment{ID: 7, Payee: "ann"})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := s.Decode(b)
	fmt.Println(p.ID, p.Payee, err)
	// Output: 7 ann <nil>
}
