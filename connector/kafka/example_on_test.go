package kafka_test

import (
	"fmt"
	"testing"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
	"github.com/weirstream/weir/stream/streamtest"
)

// A sink on another cluster is exact as well: what is for it goes through an outbox on the app's cluster, which a relay empties.
func ExampleOn() {
	archive := &kafka.Cluster{Brokers: []string{"archive:9092"}}
	b := stream.New("archiver")
	b.Source(kafka.Source("orders", serde.String, serde.Int64)).
		Filter(func(_ string, cents int64) bool { return cents >= 100 }).
		To(kafka.Sink("large-orders", serde.String, serde.Int64, kafka.On(archive)))

	d := streamtest.New(example{}, b) // in a test: t
	orders, large := d.In[string, int64]("orders"), d.Out[string, int64]("large-orders")
	orders.Send("a", 50)
	orders.Send("b", 300)
	d.Crash()
	orders.Send("c", 200)
	for _, r := range large.Read() {
		fmt.Println(r.Key, r.Value)
	}
	// Output:
	// b 300
	// c 200
}

// An example has no test to fail.
type example struct{ testing.TB }

func (example) Helper()                   {}
func (example) Cleanup(func())            {}
func (example) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (example) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
