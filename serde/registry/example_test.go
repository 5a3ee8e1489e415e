package registry_test

import (
	"context"
	"fmt"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

// A client looks schemas up by the ids in front of records. Here it talks to the registry for tests; in a program
// it has URLs: registry.Config{URLs: []string{"https://registry.example:8081"}}.
func ExampleNew() {
	client := registry.New(registrytest.New().Config())
	ctx := context.Background()
	id, err := client.Register(ctx, "orders-value", serde.Schema{Format: serde.FormatAvro, Text: `{"type":"record","name":"Order","fields":[]}`})
	fmt.Println(id, err)
	s, err := client.Schema(ctx, id)
	fmt.Println(s.Format, s.Text, err)
	_, err = client.Schema(ctx, 99)
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// AVRO {"type":"record","name":"Order","fields":[]} <nil>
	// registry: schema id 99: serde: unknown schema: Schema 99 not found (error 40403)
}

// A subject for each tenant: any function can be a strategy.
func ExampleStrategy() {
	perTenant := func(topic, record string, key bool) (string, error) {
		return registry.TopicName("acme."+topic, record, key)
	}
	fmt.Println(perTenant("orders", "shop.Order", false))
	fmt.Println(registry.TopicRecordName("orders", "shop.Order", false))
	// Output:
	// acme.orders-value <nil>
	// orders-shop.Order <nil>
}
