package main

import (
	"maps"
	"testing"

	"github.com/weirstream/weir/stream/streamtest"
)

func TestRevenueFollowsBothSides(t *testing.T) {
	d := streamtest.New(t, topology(), streamtest.Partitions(3))
	orders, customers := d.In[int64, Order]("orders"), d.In[string, Customer]("customers")
	out := d.Out[string, int64]("revenue")
	of := func(customer string) *string { return &customer }
	total := map[string]int64{}
	check := func(what string, want map[string]int64) {
		t.Helper()
		for _, r := range out.Read() {
			total[r.Key] = r.Value
		}
		if !maps.Equal(total, want) {
			t.Errorf("%s: revenue is %v, want %v", what, total, want)
		}
	}
	orders.Send(1, Order{of("ann"), 100})
	orders.Send(2, Order{of("bob"), 20})
	orders.Send(3, Order{nil, 7})
	check("before there are customers", map[string]int64{})
	customers.Send("ann", Customer{"at"})
	customers.Send("bob", Customer{"at"})
	check("customers come", map[string]int64{"at": 120})
	customers.Send("ann", Customer{"ch"})
	check("a customer moves", map[string]int64{"at": 20, "ch": 100})
	orders.Send(3, Order{of("bob"), 7})
	check("a guest signs in", map[string]int64{"at": 27, "ch": 100})
	orders.Delete(1)
	customers.Delete("bob")
	check("deletions", map[string]int64{"at": 0, "ch": 0})
}
