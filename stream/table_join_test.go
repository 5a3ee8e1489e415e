package stream_test

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// An exampleTB runs a streamtest inside an Example.
type exampleTB struct {
	testing.TB
	cleanup []func()
}

func (e *exampleTB) Helper()                      {}
func (e *exampleTB) Cleanup(f func())             { e.cleanup = append(e.cleanup, f) }
func (e *exampleTB) Errorf(form string, a ...any) { panic(fmt.Sprintf(form, a...)) }
func (e *exampleTB) Fatalf(form string, a ...any) { panic(fmt.Sprintf(form, a...)) }

func (e *exampleTB) end() {
	for _, f := range e.cleanup {
		f()
	}
}

// twoTables are those of people and of cities.
func twoTables(b *stream.Builder) (people, cities *stream.Table[string, string]) {
	return b.Table(kafka.Source("people", serde.String, serde.String)), b.Table(kafka.Source("cities", serde.String, serde.String))
}

// showTable runs a topology over two people, of whom one has a city, and prints the rows that come out.
func showTable(b *stream.Builder, out *stream.Table[string, string]) {
	out.To(kafka.Sink("out", serde.String, serde.String))
	t := &exampleTB{}
	defer t.end()
	d := streamtest.New(t, b)
	people, cities := d.In[string, string]("people"), d.In[string, string]("cities")
	people.Send("ann", "bern")
	people.Send("bob", "oslo")
	cities.Send("bern", "Switzerland")
	cities.Send("ann", "her own")
	fmt.Println(streamtest.Rows(d.Out[string, string]("out")))
}

func ExampleTable_Join() {
	b := stream.New("join")
	people, cities := twoTables(b)
	showTable(b, people.Join(cities, func(p, c string) string { return p + "/" + c }))
	// Output: map[ann:bern/her own]
}

func ExampleTable_LeftJoin() {
	b := stream.New("join")
	people, cities := twoTables(b)
	showTable(b, people.LeftJoin(cities, func(p, c string, ok bool) string { return fmt.Sprint(p, "/", c, ok) }))
	// Output: map[ann:bern/her owntrue bob:oslo/false]
}

func ExampleTable_OuterJoin() {
	b := stream.New("join")
	people, cities := twoTables(b)
	showTable(b, people.OuterJoin(cities, func(p, c string, _ stream.Match) string { return p + "/" + c }))
	// Output: map[ann:bern/her own bern:/Switzerland bob:oslo/]
}

func ExampleTable_JoinOn() {
	b := stream.New("join")
	people, cities := twoTables(b)
	city := func(_, p string) (string, bool) { return p, true }
	showTable(b, people.JoinOn(cities, city, func(p, c string) string { return p + "/" + c }))
	// Output: map[ann:bern/Switzerland]
}

func ExampleTable_LeftJoinOn() {
	b := stream.New("join")
	people, cities := twoTables(b)
	city := func(_, p string) (string, bool) { return p, true }
	showTable(b, people.LeftJoinOn(cities, city, func(p, c string, _ bool) string { return p + "/" + c }))
	// Output: map[ann:bern/Switzerland bob:oslo/]
}
